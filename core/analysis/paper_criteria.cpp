#include "core/analysis/paper_criteria.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/ops/rules.h"

namespace normlens::analysis {

using graph::Graph;
using graph::kNone;
using graph::Node;
using graph::OpKind;
using graph::Use;
using graph::ValueId;
using ops::Demand;
using ops::Pattern;
using ops::ZeroMean;

namespace {

using Key = std::pair<ValueId, Pattern>;

struct Leaf {
  Demand at;
  bool opaque = false;
  std::vector<Demand> constants;  // of a linear leaf
  std::vector<Use> uses;          // reads of it inside the zero-mean graph
};

bool passesThrough(OpKind kind) {
  switch (kind) {
    case OpKind::Identity:
    case OpKind::Cast:
    case OpKind::Neg:
    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Mul:
    case OpKind::Div:
    case OpKind::MaskedFill:
    case OpKind::Reshape:
    case OpKind::Permute:
    case OpKind::Expand:
    case OpKind::Slice:
    case OpKind::Select:
    case OpKind::Roll:
    case OpKind::Pad:
      return true;
    default:
      return false;
  }
}

class PaperBacktrack {
 public:
  PaperBacktrack(const Graph& graph, ValueId input, Pattern pattern, std::vector<Use> reads) : graph_(graph) {
    visit({input, std::move(pattern)}, std::move(reads));
    while (!queue_.empty()) {
      const Key key = queue_.back();
      queue_.pop_back();
      expand(key);
    }
  }
  [[nodiscard]] std::vector<Leaf> leaves() const {
    std::vector<Leaf> out;
    for (const auto& [key, leaf] : leaves_) {
      Leaf full = leaf;
      full.uses = reads_.at(key);
      out.push_back(std::move(full));
    }
    return out;
  }

 private:
  void visit(const Demand& demand, const std::vector<Use>& reads) {
    const Key key{demand.value, demand.pattern};
    const auto [at, added] = reads_.try_emplace(key);
    at->second.insert(at->second.end(), reads.begin(), reads.end());
    if (added) queue_.push_back(key);
  }

  void leaf(const Key& key, bool opaque, std::vector<Demand> constants = {}) {
    leaves_[key] = Leaf{{key.first, key.second}, opaque, std::move(constants), {}};
  }

  void expand(const Key& key) {
    const auto& value = graph_.value(key.first);
    if (value.literal) {
      if (*value.literal != 0) leaf(key, true);
      return;
    }
    if (value.producer == kNone || !value.opaqueReason.empty()) return leaf(key, true);
    const Node& node = graph_.node(value.producer);
    if (node.kind == OpKind::LayerNorm && value.output == 0) return;  // taken as zero-mean
    const ZeroMean answer = ops::opRow(node.kind).zeroMean(graph_, node, value.output, key.second);
    if (answer.verdict == ZeroMean::Verdict::Proven) return;
    if (answer.verdict == ZeroMean::Verdict::Refused || !answer.jointly.empty()) return leaf(key, true);
    if (auto constants = linearConstants(node, answer.needs)) return leaf(key, false, std::move(*constants));
    if (!passesThrough(node.kind)) return leaf(key, true);
    for (const Demand& demand : answer.needs) visit(demand, usesBy(value.producer, demand.value));
  }

  std::vector<Use> usesBy(graph::NodeId node, ValueId value) const {
    std::vector<Use> out;
    for (const Use& use : graph_.value(value).uses) {
      if (use.node == node) out.push_back(use);
    }
    return out;
  }

  // A general linear layer: its weight and bias are constants, reached through permutations at most.
  std::optional<std::vector<Demand>> linearConstants(const Node& node, const std::vector<Demand>& needs) const {
    switch (node.kind) {
      case OpKind::Linear:
      case OpKind::MatMul:
      case OpKind::AddMatMul:
      case OpKind::Einsum:
      case OpKind::Conv:
        break;
      default:
        return std::nullopt;
    }
    std::vector<Demand> out;
    for (Demand demand : needs) {
      while (graph_.value(demand.value).constant == kNone) {
        const auto& value = graph_.value(demand.value);
        if (value.producer == kNone) return std::nullopt;
        const Node& step = graph_.node(value.producer);
        if (step.kind != OpKind::Permute && step.kind != OpKind::Identity && step.kind != OpKind::Reshape)
          return std::nullopt;
        ZeroMean moved = ops::opRow(step.kind).zeroMean(graph_, step, value.output, demand.pattern);
        if (moved.needs.size() != 1) return std::nullopt;
        demand = std::move(moved.needs.front());
      }
      out.push_back(std::move(demand));
    }
    return out;
  }

  const Graph& graph_;
  std::vector<Key> queue_;
  std::map<Key, std::vector<Use>> reads_;
  std::map<Key, Leaf> leaves_;
};

bool tolerated(ShiftTolerance& tolerance, const Demand& at) {
  const auto readings = tolerance.readings(at.value, at.pattern);
  return std::all_of(readings.begin(), readings.end(), [](const auto& reading) { return reading.tolerant; });
}

std::vector<Use> readsOfNorm(const Graph& graph, const LayerNorm& norm) {
  std::vector<Use> out;
  for (const Use& use : graph.value(norm.input).uses) {
    if (std::find(norm.members.begin(), norm.members.end(), use.node) != norm.members.end()) out.push_back(use);
  }
  return out;
}

}  // namespace

PaperCriteria paperCriteria(const Graph& graph, const std::vector<LayerNorm>& norms) {
  PaperCriteria out;
  ShiftTolerance tolerance(graph);
  std::set<Key> constants;
  std::map<Key, std::vector<Use>> centerings;
  std::vector<fold::Edit> replaced;
  for (const LayerNorm& norm : norms) {
    PaperVerdict verdict;
    const auto& shape = graph.value(norm.input).shape;
    if (shape && !norm.axes.empty() && norm.blockedReason.empty()) {
      const Pattern pattern = Pattern::overAxes(*shape, norm.axes);
      const auto leaves = PaperBacktrack(graph, norm.input, pattern, readsOfNorm(graph, norm)).leaves();
      const auto opaque = [](const Leaf& leaf) { return leaf.opaque; };
      const auto harmless = [&](const Leaf& leaf) { return tolerated(tolerance, leaf.at); };
      verdict.paper = std::none_of(leaves.begin(), leaves.end(), opaque);
      verdict.strict = verdict.paper && std::all_of(leaves.begin(), leaves.end(), harmless);
      verdict.practical =
          std::all_of(leaves.begin(), leaves.end(), [&](const Leaf& leaf) { return !leaf.opaque || harmless(leaf); });
      if (verdict.practical) {
        for (const Leaf& leaf : leaves) {
          for (const Demand& constant : leaf.constants) constants.insert({constant.value, constant.pattern});
          if (!leaf.opaque) continue;
          auto& uses = centerings[{leaf.at.value, leaf.at.pattern}];
          for (const Use& use : leaf.uses) {
            if (std::find(uses.begin(), uses.end(), use) == uses.end()) uses.push_back(use);
          }
        }
        replaced.push_back(fold::ReplaceNorm{norm.index});
      }
    }
    out.verdicts.push_back(verdict);
  }
  for (const auto& [value, pattern] : constants) {
    out.edits.push_back(fold::CenterConstant{{{graph.value(value).constant, pattern}}, graph.value(value).uses, false});
  }
  for (const auto& [key, uses] : centerings) out.edits.push_back(fold::InsertCentering{key.first, key.second, uses});
  out.edits.insert(out.edits.end(), replaced.begin(), replaced.end());
  return out;
}

}  // namespace normlens::analysis
