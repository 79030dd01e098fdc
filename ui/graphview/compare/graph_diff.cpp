#include "ui/graphview/compare/graph_diff.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>

namespace normlens::graphview {
namespace {

using protocol::GraphDocument;
using protocol::GraphNode;

// Nodes of one name in one module, in the order in which they run.
using Groups = std::map<std::pair<std::string, std::string>, std::vector<int>>;

std::string moduleOf(const GraphDocument& graph, const GraphNode& node) {
  const bool known = node.scope >= 0 && static_cast<size_t>(node.scope) < graph.scopes.size();
  return known ? graph.scopes[static_cast<size_t>(node.scope)].path : std::string();
}

Groups groupsOf(const GraphDocument& graph) {
  Groups groups;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    groups[{moduleOf(graph, node), node.name}].push_back(static_cast<int>(i));
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

// Names what an operator does, whatever its format calls it; its own name where no other is known.
std::string familyOf(const GraphNode& node) {
  static const std::map<std::string, std::string, std::less<>> kFamilies{{"linear", "matmul"},
                                                                         {"gemm", "matmul"},
                                                                         {"addmm", "matmul"},
                                                                         {"mm", "matmul"},
                                                                         {"bmm", "matmul"},
                                                                         {"gather", "embedding"},
                                                                         {"gathernd", "embedding"},
                                                                         {"layernormalization", "layernorm"},
                                                                         {"nativelayernorm", "layernorm"},
                                                                         {"view", "reshape"},
                                                                         {"flatten", "reshape"},
                                                                         {"permute", "transpose"},
                                                                         {"t", "transpose"},
                                                                         {"cat", "concat"},
                                                                         {"convolution", "conv"},
                                                                         {"conv1d", "conv"},
                                                                         {"conv2d", "conv"},
                                                                         {"to", "cast"},
                                                                         {"tocopy", "cast"},
                                                                         {"scaleddotproductattention", "attention"}};
  if (isNorm(node)) return "layernorm";
  if (node.role == NodeClass::Input || node.role == NodeClass::Output) return std::string(nameOf(node.role));
  std::string name = node.op.substr(node.op.rfind(':') + 1);  // npos + 1 is 0
  name = name.substr(0, name.find('.'));
  std::erase(name, '_');
  std::ranges::transform(name, name.begin(), [](unsigned char letter) { return std::tolower(letter); });
  const auto found = kFamilies.find(name);
  return found != kFamilies.end() ? found->second : name;
}

// One of the two is the other, or its transpose.
bool sameContent(const std::string& a, const std::string& b) {
  const std::string_view own = std::string_view(a).substr(0, a.find('|'));
  const size_t bar = b.find('|');
  return own == std::string_view(b).substr(0, bar) ||
         (bar != std::string::npos && own == std::string_view(b).substr(bar + 1));
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
    if (areOfTwoFormats()) pairByModules();
    return std::move(diff_);
  }

 private:
  void pair(int a, int b, NodeMark mark) {
    diff_.a.marks[static_cast<size_t>(a)] = diff_.b.marks[static_cast<size_t>(b)] = mark;
    diff_.a.partners[static_cast<size_t>(a)] = b;
    diff_.b.partners[static_cast<size_t>(b)] = a;
  }

  // Fewer than half of the nodes that are shown found one of their name.
  [[nodiscard]] bool areOfTwoFormats() const {
    size_t shown = 0, paired = 0;
    for (size_t i = 0; i < a_.nodes.size(); ++i) {
      if (a_.nodes[i].helper) continue;
      ++shown;
      paired += diff_.a.partners[i] >= 0 ? 1 : 0;
    }
    return 2 * paired < shown;
  }

  void pairByModules() {
    std::map<std::pair<std::string, std::string>, std::vector<int>>
        waiting;  // B's by module and family, the first last
    for (int i = static_cast<int>(b_.nodes.size()) - 1; i >= 0; --i) {
      const GraphNode& node = b_.nodes[static_cast<size_t>(i)];
      if (!node.helper && diff_.b.partners[static_cast<size_t>(i)] < 0)
        waiting[{moduleOf(b_, node), familyOf(node)}].push_back(i);
    }
    for (size_t i = 0; i < a_.nodes.size(); ++i) {
      const GraphNode& node = a_.nodes[i];
      if (node.helper || diff_.a.partners[i] >= 0) continue;
      auto& same = waiting[{moduleOf(a_, node), familyOf(node)}];
      if (same.empty()) continue;
      const int partner = same.back();
      same.pop_back();
      pair(static_cast<int>(i), partner,
           sameContents(static_cast<int>(i), partner) ? NodeMark::Same : NodeMark::Changed);
    }
    leaveOutHelpers(a_, diff_.a);
    leaveOutHelpers(b_, diff_.b);
    joinBiases(a_, diff_.a);
    joinBiases(b_, diff_.b);
  }

  // Each format has helpers of its own, which say nothing about the model.
  static void leaveOutHelpers(const GraphDocument& graph, GraphDiff::Side& side) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (graph.nodes[i].helper && side.partners[i] < 0) side.marks[i] = NodeMark::Same;
    }
  }

  // The bias of a linear layer is a node of its own in one format, and part of the layer in the other.
  static void joinBiases(const GraphDocument& graph, GraphDiff::Side& side) {
    std::map<int, size_t> makers;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const int output : graph.nodes[i].outputs) makers[output] = i;
    }
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (side.partners[i] >= 0 || familyOf(graph.nodes[i]) != "add") continue;
      for (const int input : graph.nodes[i].inputs) {
        const auto maker = makers.find(input);
        if (maker == makers.end() || familyOf(graph.nodes[maker->second]) != "matmul" ||
            moduleOf(graph, graph.nodes[maker->second]) != moduleOf(graph, graph.nodes[i]))
          continue;
        side.marks[i] = side.marks[maker->second];
        side.partners[i] = side.partners[maker->second];
        if (side.marks[i] == NodeMark::Changed) side.marks[i] = NodeMark::Same;  // the layer itself is listed
      }
    }
  }

  // The node with fewer weights has each of them from the other.
  [[nodiscard]] bool sameContents(int a, int b) const {
    const auto ours = weightsOf(a_.nodes[static_cast<size_t>(a)], weightsOfA_);
    const auto theirs = weightsOf(b_.nodes[static_cast<size_t>(b)], weightsOfB_);
    const bool fewer = ours.size() <= theirs.size();
    const auto &few = fewer ? ours : theirs, &many = fewer ? theirs : ours;
    return std::ranges::all_of(few, [&](const std::string& one) {
      return std::ranges::any_of(many, [&](const std::string& other) { return sameContent(one, other); });
    });
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

std::vector<std::pair<int, double>> timesInPlacesOf(const GraphDocument& a, const GraphDocument& b,
                                                    const std::vector<std::pair<int, double>>& timesOfB) {
  const GraphDiff diff = compareGraphs(a, b);
  std::unordered_map<int, size_t> makers, readers, places;
  for (size_t i = 0; i < b.nodes.size(); ++i) {
    places.emplace(b.nodes[i].id, i);
    for (const int value : b.nodes[i].outputs) makers.emplace(value, i);
    for (const int value : b.nodes[i].inputs) readers.emplace(value, i);
  }
  // The first node from here on that has a partner; nullopt: there is none.
  const auto nearest = [&](size_t from, bool before) -> std::optional<size_t> {
    for (size_t at = from, steps = 0; steps < b.nodes.size(); ++steps) {
      if (diff.b.partners[at] >= 0) return at;
      const auto& known = before ? makers : readers;
      const auto& values = before ? b.nodes[at].inputs : b.nodes[at].outputs;
      const auto next = std::ranges::find_if(values, [&](int value) { return known.contains(value); });
      if (next == values.end()) break;
      at = known.at(*next);
    }
    return std::nullopt;
  };
  std::vector<std::pair<int, double>> times;
  for (const auto& [node, ms] : timesOfB) {
    const auto place = places.find(node);
    if (place == places.end()) continue;
    const auto behind = nearest(place->second, false), before = nearest(place->second, true);
    const bool ofNorm =
        behind && isNorm(b.nodes[*behind]) && moduleOf(b, b.nodes[*behind]) == moduleOf(b, b.nodes[place->second]);
    if (const auto at = ofNorm || !before ? behind : before)
      times.emplace_back(a.nodes[static_cast<size_t>(diff.b.partners[*at])].id, ms);
  }
  return times;
}

GraphDocument withShapesOf(const GraphDocument& open, const GraphDocument& other, const GraphDiff& diff) {
  std::unordered_map<int, const protocol::GraphValue*> known;
  for (const auto& value : open.values) known[value.id] = &value;
  std::unordered_map<int, const protocol::GraphValue*> wanted;  // by id in the other
  for (size_t i = 0; i < other.nodes.size(); ++i) {
    if (diff.b.partners[i] < 0) continue;
    const auto& ours = open.nodes[static_cast<size_t>(diff.b.partners[i])].outputs;
    const auto& theirs = other.nodes[i].outputs;
    for (size_t output = 0; output < std::min(ours.size(), theirs.size()); ++output)
      wanted[theirs[output]] = known[ours[output]];
  }
  GraphDocument shaped = other;
  for (auto& value : shaped.values) {
    const auto found = wanted.find(value.id);
    if (found == wanted.end() || found->second == nullptr) continue;
    value.stream = value.stream || found->second->stream;
    if (value.has_shape) continue;
    value.shape = found->second->shape;
    value.has_shape = found->second->has_shape;
  }
  return shaped;
}

}  // namespace normlens::graphview
