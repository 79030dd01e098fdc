#include "ui/graphview/compare/change_list.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "ui/words/plan_rows.h"

namespace normlens::graphview {
namespace {

using protocol::GraphDocument;
using protocol::GraphNode;

class Lister {
 public:
  Lister(const GraphDocument& a, const GraphDocument& b, const GraphDiff& diff, const WeightTexts& weightsOfA,
         const WeightTexts& weightsOfB)
      : a_(a), b_(b), diff_(diff), weightsOfA_(weightsOfA), weightsOfB_(weightsOfB) {
    for (size_t node = 0; node < b.nodes.size(); ++node) {
      for (const int output : b.nodes[node].outputs) makerInB_.emplace(output, static_cast<int>(node));
    }
  }

  std::vector<Change> run() {
    for (size_t node = 0; node < diff_.a.marks.size(); ++node) {
      order_ = static_cast<double>(node);
      const int place = static_cast<int>(node);
      if (diff_.a.marks[node] == NodeMark::Changed) addPair(place, diff_.a.partners[node]);
      if (diff_.a.marks[node] == NodeMark::Only) add(Change::Kind::Removed, place, -1, weightsOf(place, -1));
    }
    double before = -1;
    for (size_t node = 0; node < diff_.b.marks.size(); ++node) {
      order_ = before + 0.5;
      const int place = static_cast<int>(node);
      if (diff_.b.marks[node] == NodeMark::Only) {
        add(Change::Kind::Added, -1, place, weightsOf(-1, place));
      } else {
        before = diff_.b.partners[node];
      }
    }
    std::ranges::stable_sort(listed_, {}, &Listed::order);
    std::vector<Change> changes;
    for (Listed& each : listed_) changes.push_back(std::move(each.change));
    return changes;
  }

 private:
  struct Listed {
    double order;
    Change change;
  };

  void add(Change::Kind kind, int a, int b, std::vector<WeightPair> weights) {
    listed_.push_back({order_, {kind, a, b, std::move(weights)}});
  }

  void addPair(int a, int b) {
    const GraphNode &ours = a_.nodes[static_cast<size_t>(a)], &theirs = b_.nodes[static_cast<size_t>(b)];
    const auto weights = weightsOf(a, b);
    if (ours.op != theirs.op) {
      const bool rms = ours.role == NodeClass::LayerNorm && theirs.role == NodeClass::RmsNorm;
      return add(rms ? Change::Kind::RmsNorm : Change::Kind::Operator, a, b, weights);
    }
    for (const WeightPair& pair : weights) {
      if ((!pair.same || pair.through) && told_.emplace(pair.a, pair.b).second) add(Change::Kind::Weight, a, b, {pair});
    }
  }

  static std::vector<int> weightsIn(const GraphDocument& graph, int node, const WeightTexts& known) {
    std::vector<int> weights;
    if (node < 0) return weights;
    for (const int input : graph.nodes[static_cast<size_t>(node)].inputs) {
      const bool isValue = input >= 0 && static_cast<size_t>(input) < graph.values.size();
      if (isValue && known.contains(input)) weights.push_back(input);
    }
    return weights;
  }

  // By order where both read as many; else those of one name belong together first, as beta may be gone.
  [[nodiscard]] std::vector<WeightPair> weightsOf(int a, int b) const {
    if (weightsOfA_.empty() || weightsOfB_.empty()) return {};
    const auto ours = weightsIn(a_, a, weightsOfA_);
    auto theirs = weightsIn(b_, b, weightsOfB_);
    std::vector<WeightPair> pairs;
    for (const int weight : ours) pairs.push_back({weight, -1, false});
    if (ours.size() != theirs.size()) {
      for (WeightPair& pair : pairs) {
        const auto named = std::ranges::find_if(theirs, [&](int id) { return nameOf(b_, id) == nameOf(a_, pair.a); });
        if (named == theirs.end()) continue;
        pair.b = *named;
        theirs.erase(named);
      }
    }
    for (WeightPair& pair : pairs) {
      if (pair.b >= 0 || theirs.empty()) continue;
      pair.b = theirs.front();
      theirs.erase(theirs.begin());
    }
    for (const int weight : theirs) pairs.push_back({-1, weight, false});
    for (WeightPair& pair : pairs) {
      if (pair.b < 0 && b >= 0) {
        pair.b = behindNewOps(b, weightsOfA_.at(pair.a));
        pair.through = pair.b >= 0;
      }
      pair.same = pair.a >= 0 && pair.b >= 0 && weightsOfA_.at(pair.a) == weightsOfB_.at(pair.b);
    }
    return pairs;
  }

  // The same weight where the node of b reads it through ops that only b has; -1.
  [[nodiscard]] int behindNewOps(int node, const std::string& weight) const {
    std::vector<int> open{node};
    std::set<int> seen;
    while (!open.empty()) {
      const int at = open.back();
      open.pop_back();
      for (const int input : b_.nodes[static_cast<size_t>(at)].inputs) {
        const auto known = weightsOfB_.find(input);
        if (at != node && known != weightsOfB_.end() && known->second == weight) return input;
        const auto maker = makerInB_.find(input);
        const bool isNew =
            maker != makerInB_.end() && diff_.b.marks[static_cast<size_t>(maker->second)] == NodeMark::Only;
        if (isNew && seen.insert(maker->second).second) open.push_back(maker->second);
      }
    }
    return -1;
  }

  static const std::string& nameOf(const GraphDocument& graph, int value) {
    return graph.values[static_cast<size_t>(value)].name;
  }

  const GraphDocument& a_;
  const GraphDocument& b_;
  const GraphDiff& diff_;
  const WeightTexts& weightsOfA_;
  const WeightTexts& weightsOfB_;
  std::vector<Listed> listed_;
  std::set<std::pair<int, int>> told_;
  std::unordered_map<int, int> makerInB_;  // places of nodes, by value
  double order_ = 0;
};

}  // namespace

std::vector<Change> changesOf(const GraphDocument& a, const GraphDocument& b, const GraphDiff& diff,
                              const WeightTexts& weightsOfA, const WeightTexts& weightsOfB) {
  return Lister(a, b, diff, weightsOfA, weightsOfB).run();
}

std::vector<Change> editsOfOne(const GraphDocument& graph, const protocol::PlanInfo& a, const protocol::PlanInfo& b) {
  std::unordered_map<int, int> places;
  for (size_t i = 0; i < graph.nodes.size(); ++i) places.emplace(graph.nodes[i].id, static_cast<int>(i));
  std::vector<Change> changes;
  const std::vector<ui::PlanRow> rows = ui::planRows(a, b);
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool onlyB = i >= a.edits.size();  // they follow those of a
    if (rows[i].on && !onlyB) continue;
    const auto found = places.find(rows[i].edit.node);
    const int place = found == places.end() ? -1 : found->second;
    changes.push_back({onlyB ? Change::Kind::Added : Change::Kind::Removed, place, place, {}, rows[i].edit});
  }
  std::ranges::stable_sort(changes, {}, &Change::a);
  return changes;
}

GraphDiff diffOf(const GraphDocument& graph, const std::vector<Change>& edits) {
  GraphDiff diff;
  for (GraphDiff::Side* side : {&diff.a, &diff.b}) {
    side->marks.assign(graph.nodes.size(), NodeMark::Same);
    side->partners.resize(graph.nodes.size());
    std::iota(side->partners.begin(), side->partners.end(), 0);
  }
  for (const Change& edit : edits) {
    if (edit.a < 0) continue;
    (edit.kind == Change::Kind::Removed ? diff.a : diff.b).marks[static_cast<size_t>(edit.a)] = NodeMark::Only;
  }
  return diff;
}

}  // namespace normlens::graphview
