#include "core/analysis/paper_criteria.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/grouped.h"
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

// A claim on the way back from a norm: (value, pattern), and the claims that it rests on with the reads between them.
struct Step {
  struct Next {
    int step;
    std::vector<Use> reads;
  };
  std::vector<Next> next;
  bool leaf = false;
  bool opaque = false;            // of a leaf
  std::vector<Demand> constants;  // of a linear leaf
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

// The zero-mean graphs of all norms in one: each (value, pattern) is looked at once.
class PaperBacktrack {
 public:
  explicit PaperBacktrack(const Graph& graph) : graph_(graph) {}

  // The step of a norm's input; everything behind it is there afterwards.
  int from(const Demand& demand) {
    const int first = stepOf(demand);
    for (; expanded_ < steps_.size(); ++expanded_) expand(expanded_);
    return first;
  }
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  [[nodiscard]] const Demand& demandOf(size_t step) const { return index_[static_cast<int>(step)]; }

 private:
  int stepOf(const Demand& demand) {
    const int step = index_.number(demand);
    if (static_cast<size_t>(step) == steps_.size()) steps_.emplace_back();
    return step;
  }

  void leaf(size_t step, bool opaque, std::vector<Demand> constants = {}) {
    steps_[step].leaf = true;
    steps_[step].opaque = opaque;
    steps_[step].constants = std::move(constants);
  }

  void expand(size_t step) {
    const Demand& at = demandOf(step);
    const auto& value = graph_.value(at.value);
    if (value.literal) {
      if (*value.literal != 0) leaf(step, true);
      return;
    }
    if (value.producer == kNone || !value.opaqueReason.empty()) return leaf(step, true);
    const Node& node = graph_.node(value.producer);
    if (node.kind == OpKind::LayerNorm && value.output == 0) return;  // taken as zero-mean
    const ZeroMean answer = ops::opRow(node.kind).zeroMean(graph_, node, value.output, at.pattern);
    if (answer.verdict == ZeroMean::Verdict::Proven) return;
    if (answer.verdict == ZeroMean::Verdict::Refused || !answer.jointly.empty()) return leaf(step, true);
    if (auto constants = linearConstants(node, answer.needs)) return leaf(step, false, std::move(*constants));
    if (!passesThrough(node.kind)) return leaf(step, true);
    for (const Demand& demand : answer.needs) {
      const int next = stepOf(demand);  // may move the steps
      steps_[step].next.push_back({next, usesBy(value.producer, demand.value)});
    }
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
  std::vector<Step> steps_;
  size_t expanded_ = 0;
  DemandIndex index_;  // of the steps
};

// Who rests on a step.
Grouped<int> readersOf(const std::vector<Step>& steps) {
  std::vector<std::pair<int, int>> members;
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const Step::Next& next : steps[i].next) members.emplace_back(next.step, static_cast<int>(i));
  }
  return {steps.size(), members};
}

// The steps from which a leaf of this kind is reached.
template <class IsBad>
std::vector<bool> reaching(const std::vector<Step>& steps, const Grouped<int>& readers, IsBad isBad) {
  std::vector<bool> reached(steps.size(), false);
  std::vector<int> queue;
  for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
    if (!steps[static_cast<size_t>(i)].leaf || !isBad(i)) continue;
    reached[static_cast<size_t>(i)] = true;
    queue.push_back(i);
  }
  while (!queue.empty()) {
    const int at = queue.back();
    queue.pop_back();
    for (const int reader : readers[static_cast<size_t>(at)]) {
      if (reached[static_cast<size_t>(reader)]) continue;
      reached[static_cast<size_t>(reader)] = true;
      queue.push_back(reader);
    }
  }
  return reached;
}

bool tolerated(ShiftTolerance& tolerance, const Demand& at) {
  const auto& readings = tolerance.readings(at);
  return std::all_of(readings.begin(), readings.end(), [](const auto& reading) { return reading.tolerant(); });
}

std::vector<Use> readsOfNorm(const Graph& graph, const LayerNorm& norm) {
  std::vector<Use> out;
  for (const Use& use : graph.value(norm.input).uses) {
    if (std::find(norm.members.begin(), norm.members.end(), use.node) != norm.members.end()) out.push_back(use);
  }
  return out;
}

// The edits of the practical criterion: what lies behind the norms that it holds for.
class PaperEdits {
 public:
  PaperEdits(const Graph& graph, const PaperBacktrack& backtrack)
      : graph_(graph), backtrack_(backtrack), steps_(backtrack.steps()), seen_(steps_.size()) {}

  void add(const LayerNorm& norm, int first) {
    visit({first, readsOfNorm(graph_, norm)});
    while (!queue_.empty()) {
      const int at = queue_.back();
      queue_.pop_back();
      for (const Step::Next& next : steps_[static_cast<size_t>(at)].next) visit(next);
    }
    replaced_.emplace_back(fold::ReplaceNorm{norm.index});
  }

  [[nodiscard]] std::vector<fold::Edit> take() {
    std::vector<fold::Edit> edits;
    for (const auto& [value, pattern] : constants_)
      edits.emplace_back(
          fold::CenterConstant{{{graph_.value(value).constant, pattern}}, graph_.value(value).uses, false});
    for (const auto& [key, uses] : centerings_) edits.emplace_back(fold::InsertCentering{key.first, key.second, uses});
    edits.insert(edits.end(), replaced_.begin(), replaced_.end());
    return edits;
  }

 private:
  void visit(const Step::Next& next) {
    const auto index = static_cast<size_t>(next.step);
    const Step& step = steps_[index];
    for (const Demand& constant : step.constants) constants_.insert({constant.value, constant.pattern});
    if (step.leaf && step.opaque) {
      const Demand& at = backtrack_.demandOf(index);
      auto& uses = centerings_[{at.value, at.pattern}];
      for (const Use& use : next.reads) {
        if (std::find(uses.begin(), uses.end(), use) == uses.end()) uses.push_back(use);
      }
    }
    if (!seen_[index]) queue_.push_back(next.step);
    seen_[index] = true;
  }

  const Graph& graph_;
  const PaperBacktrack& backtrack_;
  const std::vector<Step>& steps_;
  std::vector<bool> seen_;
  std::vector<int> queue_;
  std::set<Key> constants_;
  std::map<Key, std::vector<Use>> centerings_;
  std::vector<fold::Edit> replaced_;
};

}  // namespace

PaperCriteria paperCriteria(const Graph& graph, const std::vector<LayerNorm>& norms, ShiftTolerance& tolerance) {
  PaperBacktrack backtrack(graph);
  std::vector<int> roots;
  for (const LayerNorm& norm : norms) {
    const auto& shape = graph.value(norm.input).shape;
    const bool possible = shape && !norm.axes.empty() && norm.blockedReason.empty();
    roots.push_back(possible ? backtrack.from({norm.input, Pattern::overAxes(*shape, norm.axes)}) : kNone);
  }
  const std::vector<Step>& steps = backtrack.steps();
  const auto at = [&](int step) -> const Step& { return steps[static_cast<size_t>(step)]; };
  const Grouped<int> readers = readersOf(steps);
  std::vector<bool> harmful(steps.size(), false);
  for (size_t i = 0; i < steps.size(); ++i) harmful[i] = steps[i].leaf && !tolerated(tolerance, backtrack.demandOf(i));
  const auto isHarmful = [&](int step) { return static_cast<bool>(harmful[static_cast<size_t>(step)]); };
  const auto opaque = reaching(steps, readers, [&](int step) { return at(step).opaque; });
  const auto noticed = reaching(steps, readers, isHarmful);
  const auto both = reaching(steps, readers, [&](int step) { return at(step).opaque && isHarmful(step); });

  PaperCriteria out;
  PaperEdits edits(graph, backtrack);
  for (size_t n = 0; n < norms.size(); ++n) {
    PaperVerdict verdict;
    if (roots[n] != kNone) {
      const auto root = static_cast<size_t>(roots[n]);
      verdict.paper = !opaque[root];
      verdict.strict = verdict.paper && !noticed[root];
      verdict.practical = !both[root];
      if (verdict.practical) edits.add(norms[n], roots[n]);
    }
    out.verdicts.push_back(verdict);
  }
  out.edits = edits.take();
  return out;
}

}  // namespace normlens::analysis
