#include "ui/graphview/compare/graph_diff.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <string>

namespace normlens::graphview {
namespace {

using protocol::GraphDocument;
using protocol::GraphNode;

// Nodes of one name in one module, in the order in which they run.
using Groups = std::map<std::pair<std::string, std::string>, std::vector<int>>;

Groups groupsOf(const GraphDocument& graph) {
  Groups groups;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    const bool known = node.scope >= 0 && static_cast<size_t>(node.scope) < graph.scopes.size();
    const std::string& path = known ? graph.scopes[static_cast<size_t>(node.scope)].path : std::string();
    groups[{path, node.name}].push_back(static_cast<int>(i));
  }
  return groups;
}

// Returns the number of letters that two op names share at their ends: "layer_norm" and "rms_norm" end alike.
size_t commonEnd(const std::string& a, const std::string& b) {
  const auto [endA, endB] = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend());
  return static_cast<size_t>(endA - a.rbegin());
}

// A norm that is written out counts at the op that ends it.
bool isNorm(const GraphNode& node) { return node.role == NodeClass::LayerNorm || node.role == NodeClass::RmsNorm; }

// The weights that a node reads, in order.
std::vector<std::string> weightsOf(const GraphNode& node, const WeightTexts& known) {
  std::vector<std::string> weights;
  for (const int input : node.inputs) {
    if (const auto found = known.find(input); found != known.end()) weights.push_back(found->second);
  }
  return weights;
}

class Comparison {
 public:
  Comparison(const GraphDocument& a, const GraphDocument& b, const WeightTexts& weightsOfA,
             const WeightTexts& weightsOfB)
      : a_(a), b_(b), weightsOfA_(weightsOfA), weightsOfB_(weightsOfB) {
    diff_.a = {std::vector(a.nodes.size(), NodeMark::Only), std::vector(a.nodes.size(), -1)};
    diff_.b = {std::vector(b.nodes.size(), NodeMark::Only), std::vector(b.nodes.size(), -1)};
  }

  GraphDiff run() {
    const Groups groupsA = groupsOf(a_), groupsB = groupsOf(b_);
    for (const auto& [key, nodesA] : groupsA) {
      const auto found = groupsB.find(key);
      if (found != groupsB.end()) compare(nodesA, found->second, key.second.empty());
    }
    return std::move(diff_);
  }

 private:
  void pair(int a, int b, NodeMark mark) {
    diff_.a.marks[static_cast<size_t>(a)] = diff_.b.marks[static_cast<size_t>(b)] = mark;
    diff_.a.partners[static_cast<size_t>(a)] = b;
    diff_.b.partners[static_cast<size_t>(b)] = a;
  }

  [[nodiscard]] bool sameWeights(int a, int b) const {
    if (weightsOfA_.empty() || weightsOfB_.empty()) return true;
    return weightsOf(a_.nodes[static_cast<size_t>(a)], weightsOfA_) ==
           weightsOf(b_.nodes[static_cast<size_t>(b)], weightsOfB_);
  }

  void compare(const std::vector<int>& nodesA, const std::vector<int>& nodesB, bool nameless) {
    std::map<std::string, std::vector<int>> waiting;  // B's nodes by operator, the first one last.
    for (const int node : std::views::reverse(nodesB)) {
      waiting[b_.nodes[static_cast<size_t>(node)].op].push_back(node);
    }
    std::vector<int> restA;
    for (const int node : nodesA) {
      auto& same = waiting[a_.nodes[static_cast<size_t>(node)].op];
      if (same.empty()) {
        restA.push_back(node);
      } else {
        pair(node, same.back(), sameWeights(node, same.back()) ? NodeMark::Same : NodeMark::Changed);
        same.pop_back();
      }
    }
    if (nameless) return;  // two different operators of a module need not belong together
    std::vector<int> restB;
    for (const int node : nodesB) {
      if (diff_.b.partners[static_cast<size_t>(node)] < 0) restB.push_back(node);
    }
    for (const int node : restA) {
      const auto likeness = [&](int other) {
        const GraphNode &ours = a_.nodes[static_cast<size_t>(node)], &theirs = b_.nodes[static_cast<size_t>(other)];
        return std::pair(isNorm(ours) && isNorm(theirs), commonEnd(ours.op, theirs.op));
      };
      const auto best = std::ranges::max_element(restB, {}, likeness);
      if (best == restB.end()) break;
      pair(node, *best, NodeMark::Changed);
      restB.erase(best);
    }
  }

  const GraphDocument& a_;
  const GraphDocument& b_;
  const WeightTexts& weightsOfA_;
  const WeightTexts& weightsOfB_;
  GraphDiff diff_;
};

}  // namespace

GraphDiff compareGraphs(const GraphDocument& a, const GraphDocument& b, const WeightTexts& weightsOfA,
                        const WeightTexts& weightsOfB) {
  return Comparison(a, b, weightsOfA, weightsOfB).run();
}

}  // namespace normlens::graphview
