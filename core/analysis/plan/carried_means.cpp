#include "core/analysis/plan/carried_means.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <tl/expected.hpp>

#include "core/analysis/claims/claims.h"
#include "core/analysis/claims/finite_weights.h"
#include "core/analysis/graph_names.h"
#include "core/analysis/norms/constant_behind.h"
#include "core/graph/contains.h"
#include "core/graph/queries.h"
#include "core/ops/axis_size.h"
#include "core/ops/rules.h"

namespace normlens::analysis {
namespace {

// More are no stream that anyone wrote down: an end to sums of a value with itself.
constexpr size_t kMostTerms = 1 << 16;
// Streams that are tried one after the other, each with an analysis of its own.
constexpr size_t kMostStreams = 16;
// Ways to begin one stream.
constexpr size_t kMostRounds = 8;
// A row of a linear reads its input once more, which lies in the cache.
constexpr int64_t kRowsPerElement = 16;

bool isPlainAdd(const Graph& graph, const Node& node) {
  return node.kind == OpKind::Add && node.operands.size() == 2 && node.outputs.size() == 1 && ops::plainAlpha(node) &&
         graph.value(node.outputs[0]).shape.has_value();
}

// An Add of two values of its own shape and type hands a stream on.
bool isOfStream(const Graph& graph, NodeId id) {
  if (id == kNone) return false;
  const Node& node = graph.node(id);
  return isPlainAdd(graph, node) && std::ranges::all_of(node.operands, [&](ValueId operand) {
           return graph::sameTypeAndShape(graph, operand, node.outputs[0]);
         });
}

// All values that are added to one another around this one, itself included.
std::set<ValueId> streamAround(const Graph& graph, ValueId start) {
  std::set<ValueId> stream{start};
  std::vector<ValueId> open{start};
  const auto take = [&](ValueId value) {
    if (graph.value(value).constant == kNone && stream.insert(value).second) open.push_back(value);
  };
  while (!open.empty()) {
    const auto& value = graph.value(open.back());
    open.pop_back();
    if (isOfStream(graph, value.producer)) std::ranges::for_each(graph.node(value.producer).operands, take);
    for (const Use& use : value.uses) {
      if (isOfStream(graph, use.node)) take(graph.node(use.node).outputs[0]);
    }
  }
  return stream;
}

// Finds what a plan takes out of the values of a graph, as sums of means along their last axes.
class TakenMeans {
 public:
  TakenMeans(const Graph& graph, const std::vector<LayerNorm>& norms, const Claims& claims,
             const RestoredReads& restored, const Plan& plan)
      : graph_(graph) {
    const auto values = graph::valuesOfConstants(graph);
    std::vector<ShiftTolerance::Start> starts;
    for (const PlannedEdit& planned : plan.edits) {
      const auto note = [&](ValueId value, const ops::Pattern& pattern, const graph::Uses& uses) {
        starts.push_back({value, pattern, uses});
        for (const Use& use : uses) edits_[use].push_back(&planned.edit);
      };
      if (const auto* center = std::get_if<fold::CenterConstant>(&planned.edit)) {
        for (const auto& part : center->parts)
          note(values[static_cast<size_t>(part.constant)], part.pattern, center->uses);
      } else if (const auto* insert = std::get_if<fold::InsertCentering>(&planned.edit)) {
        note(insert->value, insert->pattern, insert->uses);
      } else if (const auto* drop = std::get_if<fold::DropAddend>(&planned.edit)) {
        note(drop->value, claims[planned.claim].pattern, drop->uses);
      } else if (const auto* scale = std::get_if<fold::AbsorbScale>(&planned.edit)) {
        for (const auto& part : scale->parts) scaled_.insert(part.constant);
      }
    }
    shifted_ = ShiftTolerance(graph, norms, restored).reachedFrom(starts);
  }

  [[nodiscard]] bool isShifted(ValueId value) const { return shifted_.contains(value); }
  // The values whose edits shift this one.
  [[nodiscard]] std::vector<ValueId> sourcesOf(ValueId value) const {
    std::vector<ValueId> out, open{value};
    std::set<ValueId> seen{value};
    while (!open.empty()) {
      const NodeId producer = graph_.value(open.back()).producer;
      open.pop_back();
      if (producer == kNone) continue;
      const auto& operands = graph_.node(producer).operands;
      for (int i = 0; i < static_cast<int>(operands.size()); ++i) {
        const ValueId operand = operands[static_cast<size_t>(i)];
        if (isEdited({producer, i, kNone})) out.push_back(operand);
        if (operand != kNoValue && isShifted(operand) && seen.insert(operand).second) open.push_back(operand);
      }
    }
    return out;
  }

  // Returns the mean of a shifted value, which goes on from `earlier` ones, whose means are known; or the value, it or
  // one in front of it, whose mean is no such sum.
  [[nodiscard]] tl::expected<fold::RestoreMean, ValueId> meanOf(ValueId value, const std::set<ValueId>& earlier) const {
    const auto& of = graph_.value(value);
    Sum sum{{}, {value}, graph_.node(of.producer).block, of.dtype};
    sum.mean.value = value;
    while (!sum.open.empty()) {
      const ValueId id = sum.open.back();
      sum.open.pop_back();
      if (id != value && earlier.contains(id)) {
        sum.mean.earlier.push_back(id);
      } else if (isShifted(id) && !(sum.terms() < kMostTerms && addSources(id, sum))) {
        return tl::unexpected(id);
      }
    }
    return std::move(sum.mean);
  }

 private:
  struct Sum {
    fold::RestoreMean mean;
    std::vector<ValueId> open;  // whose means are still to be added
    graph::BlockId block;
    graph::DType dtype;

    [[nodiscard]] size_t terms() const {
      return mean.linears.size() + mean.constants.size() + mean.values.size() + open.size();
    }
  };

  [[nodiscard]] bool isEdited(const Use& use) const { return edits_.contains(use); }

  bool addSources(ValueId id, Sum& sum) const {
    const auto& value = graph_.value(id);
    if (value.producer == kNone || value.dtype != sum.dtype) return false;
    const Node& node = graph_.node(value.producer);
    const auto read = [&](int operand) { return addRead({value.producer, operand, kNone}, sum); };
    if (node.block != sum.block) return false;
    if (isPlainAdd(graph_, node)) return read(0) && read(1);
    switch (node.kind) {
      case OpKind::Identity:
        return read(0);
      case OpKind::Reshape: {
        const ValueId product = node.operands[0];
        const NodeId linear = graph_.value(product).producer;
        return linear != kNone && !isEdited({value.producer, 0, kNone}) && haveSameRows(product, id) &&
               addLinear(linear, id, sum);
      }
      default:
        return addLinear(value.producer, kNoValue, sum);
    }
  }

  // A view that leaves rows as they are, in every run.
  [[nodiscard]] bool haveSameRows(ValueId value, ValueId view) const {
    const auto &before = graph_.value(value).shape, &behind = graph_.value(view).shape;
    return before && behind && !before->empty() && !behind->empty() && before->back() == behind->back() &&
           ops::isSizeFixed(graph_, value, before->size() - 1) && ops::isSizeFixed(graph_, view, behind->size() - 1);
  }

  // viewed: a view of what it makes, whose mean is asked for; kNoValue: none.
  bool addLinear(NodeId id, ValueId viewed, Sum& sum) const {
    const Node& node = graph_.node(id);
    const auto bias = [&](int operand) {
      const ValueId held = graph::operandAt(node, static_cast<size_t>(operand));
      if (held == kNoValue) return true;
      const auto& shape = graph_.value(held).shape;
      return (viewed == kNoValue || (shape && shape->size() == 1)) && addRead({id, operand, kNone}, sum);
    };
    switch (node.kind) {
      case OpKind::Linear:
        return addRow(id, 0, 1, 1, viewed, sum) && bias(2);
      case OpKind::AddMatMul:
        return ops::plainAlpha(node) && ops::plainBeta(node) && addRow(id, 1, 2, 0, viewed, sum) && bias(0);
      case OpKind::MatMul:
        return ops::plainAlpha(node) && addRow(id, 0, 1, 0, viewed, sum);
      default:
        return false;
    }
  }

  // Adds what the read lacks: by an edit of the read, or because the value is shifted itself.
  bool addRead(const Use& use, Sum& sum) const {
    const ValueId id = graph_.node(use.node).operands[static_cast<size_t>(use.operand)];
    if (id == kNoValue) return false;
    const auto edits = edits_.find(use);
    if (edits == edits_.end()) {
      sum.open.push_back(id);
      return true;
    }
    const auto& value = graph_.value(id);
    if (edits->second.size() != 1 || !value.shape || value.shape->empty() || value.dtype != sum.dtype) return false;
    const ops::Pattern rows = alongRows(*value.shape);
    const fold::Edit& edit = *edits->second.front();
    if (const auto* center = std::get_if<fold::CenterConstant>(&edit)) {
      if (!isCenteredAlone(*center, rows)) return false;
      sum.mean.constants.push_back(use);
      return true;
    }
    const auto* insert = std::get_if<fold::InsertCentering>(&edit);
    if (isShifted(id) || (insert != nullptr && insert->pattern != rows)) return false;
    sum.mean.values.push_back(use);
    return true;
  }

  [[nodiscard]] bool isCenteredAlone(const fold::CenterConstant& edit, const ops::Pattern& pattern) const {
    return edit.parts.size() == 1 && edit.parts[0].pattern == pattern && !scaled_.contains(edit.parts[0].constant);
  }

  // inputAxis: of the weight operand, the one that is summed.
  bool addRow(NodeId id, int input, int weight, int64_t inputAxis, ValueId viewed, Sum& sum) const {
    const ValueId x = graph_.node(id).operands[static_cast<size_t>(input)];
    if (isShifted(x) || isEdited({id, input, kNone}) || graph_.value(x).dtype != sum.dtype) return false;
    const auto behind = constantBehind(graph_, {id, weight, kNone}, inputAxis);
    if (!behind) return false;
    // A view of the weight may be edited in its stead, or where something else makes it: at run time, for one.
    for (Use at{id, weight, kNone}; !(at == behind->use);) {
      if (isEdited(at)) return false;
      at = {graph_.value(graph_.node(at.node).operands[static_cast<size_t>(at.operand)]).producer, 0, kNone};
    }
    const auto edits = edits_.find(behind->use);
    if (edits == edits_.end()) return true;  // it is zero-mean as the file has it
    const auto& view = graph_.constant(behind->constant).view;
    const auto* center = std::get_if<fold::CenterConstant>(edits->second.front());
    if (edits->second.size() != 1 || center == nullptr || view.shape.size() != 2 || view.dtype != sum.dtype)
      return false;
    const int64_t outputAxis = 1 - behind->axis;
    if (!isCenteredAlone(*center, ops::Pattern::overAxes(view.shape, {&outputAxis, 1}))) return false;
    sum.mean.linears.push_back({id, input, behind->constant, static_cast<int>(behind->axis), viewed});
    return true;
  }

  const Graph& graph_;
  std::map<Use, std::vector<const fold::Edit*>> edits_;  // by the read that they change
  std::set<ValueId> shifted_;
  std::set<graph::ConstantId> scaled_;
};

int64_t elementsOf(const Graph& graph, ValueId value) {
  const auto& shape = graph.value(value).shape;
  return shape ? graph::elementCount(*shape).value_or(0) : 0;
}

class Carrier {
 public:
  Carrier(const Graph& graph, const std::vector<LayerNorm>& norms, const std::vector<fold::AbsorbScale>& scales,
          const PlanOptions& options, Plan plan)
      : graph_(graph), norms_(norms), scales_(scales), options_(options), best_(std::move(plan)) {
    worth_ = worthOf(best_);
  }

  Plan run() {
    std::set<ValueId> seen;
    size_t tried = 0;
    for (const LayerNorm& norm : norms_) {
      const bool folds = contains(best_.folded, norm.index);
      if (folds || !norm.blockedReason.empty() || seen.contains(norm.input) || !graph_.value(norm.input).shape)
        continue;
      const auto stream = streamAround(graph_, norm.input);
      seen.insert(stream.begin(), stream.end());
      if (stream.size() > 1 && tried++ < kMostStreams) tryStream(stream);
    }
    return std::move(best_);
  }

 private:
  // The reads of the stream that a shift of its rows would reach, other than its own sums.
  [[nodiscard]] RestoredReads noticedIn(const std::set<ValueId>& stream) const {
    RestoredReads reads = restored_;
    ShiftTolerance tolerance(graph_, norms_, restored_);
    for (const ValueId id : stream) {
      const auto& shape = graph_.value(id).shape;
      const NodeId producer = graph_.value(id).producer;
      if (producer == kNone || !shape || shape->empty()) continue;
      const auto block = graph_.node(producer).block;
      for (const auto& reading : tolerance.readings(id, alongRows(*shape))) {
        if (reading.tolerant() || isOfStream(graph_, reading.use.node)) continue;
        const bool here =
            reading.use.node == kNone ? reading.use.block == block : graph_.node(reading.use.node).block == block;
        if (here) reads.insert(reading.use);
      }
    }
    for (const ValueId id : stream) keepTogether(id, reads);
    return reads;
  }

  // x - mean(x): both see the same x.
  void keepTogether(ValueId x, RestoredReads& reads) const {
    for (const Use& use : graph_.value(x).uses) {
      const auto centering = use.node == kNone ? std::nullopt : ops::explicitCentering(graph_, graph_.node(use.node));
      if (!centering || centering->input != x) continue;
      const Use asData{use.node, 0, kNone};
      const Use asMean{graph_.value(graph_.node(use.node).operands[1]).producer, 0, kNone};
      if (!reads.contains(asData) && !reads.contains(asMean)) continue;
      reads.insert(asData);
      reads.insert(asMean);
    }
  }

  void tryStream(const std::set<ValueId>& stream) {
    const RestoredReads reads = noticedIn(stream);
    PlanOptions options = options_;
    // A norm over other axes sees x as it was.
    for (const LayerNorm& norm : norms_) {
      const auto seen = readsOfInput(graph_, norm);
      if (std::ranges::any_of(seen, [&](const Use& use) { return reads.contains(use); }))
        options.keepNorms.push_back(norm.index);
    }
    for (size_t round = 0; round < kMostRounds; ++round) {
      FiniteWeights weights;
      const auto claims = Claims::build(graph_, norms_, weights, Task(), reads);
      if (!claims) return;
      Plan plan = Planner(graph_, norms_, *claims, scales_).plan(options);
      if (worthOf(plan) <= worth_) return;
      leaveAlone(reads, plan);
      const TakenMeans taken(graph_, norms_, *claims, reads, plan);
      const auto restored = restoredIn(taken, reads);
      if (restored) return adopt(std::move(plan), *restored, reads);
      // What is in front of it stays as it is: its mean is taken at run time, where the stream begins.
      const auto kept = taken.sourcesOf(restored.error());
      options.keepValues.insert(options.keepValues.end(), kept.begin(), kept.end());
    }
  }

  // A read that gets its mean back sees what the others see centered as it was.
  static void leaveAlone(const RestoredReads& reads, Plan& plan) {
    for (PlannedEdit& planned : plan.edits) {
      graph::Uses* uses = nullptr;
      if (auto* insert = std::get_if<fold::InsertCentering>(&planned.edit)) uses = &insert->uses;
      if (auto* drop = std::get_if<fold::DropAddend>(&planned.edit)) uses = &drop->uses;
      if (uses == nullptr) continue;
      graph::Uses others;
      for (const Use& use : *uses) {
        if (!reads.contains(use)) others.push_back(use);
      }
      *uses = std::move(others);
    }
    std::erase_if(plan.edits, [](const PlannedEdit& planned) {
      const auto* insert = std::get_if<fold::InsertCentering>(&planned.edit);
      const auto* drop = std::get_if<fold::DropAddend>(&planned.edit);
      return (insert != nullptr && insert->uses.empty()) || (drop != nullptr && drop->uses.empty());
    });
  }

  // In the order in which the values are made; the one whose mean is not to be had.
  [[nodiscard]] tl::expected<std::vector<fold::RestoreMean>, ValueId> restoredIn(const TakenMeans& taken,
                                                                                 const RestoredReads& reads) const {
    std::vector<fold::RestoreMean> out;
    std::set<ValueId> earlier;
    for (const NodeId id : graph_.executionOrder()) {
      for (const ValueId value : graph_.node(id).outputs) {
        graph::Uses uses;
        for (const Use& use : graph_.value(value).uses) {
          if (reads.contains(use)) uses.push_back(use);
        }
        if (uses.empty() || !taken.isShifted(value)) continue;
        auto mean = taken.meanOf(value, earlier);
        if (!mean) return tl::unexpected(mean.error());
        if (mean->linears.empty() && mean->constants.empty() && mean->values.empty() && mean->earlier.empty()) continue;
        mean->uses = std::move(uses);
        out.push_back(std::move(*mean));
        earlier.insert(value);
      }
    }
    return out;
  }

  void adopt(Plan plan, const std::vector<fold::RestoreMean>& restored, const RestoredReads& reads) {
    for (PlannedEdit& planned : plan.edits) planned.claim = kNone;
    const auto replacements = std::ranges::find_if(
        plan.edits, [](const PlannedEdit& planned) { return std::holds_alternative<fold::ReplaceNorm>(planned.edit); });
    std::vector<PlannedEdit> made;
    for (const fold::RestoreMean& each : restored) made.push_back({each, kNone, {}, 0, 0});
    plan.edits.insert(replacements, made.begin(), made.end());
    const int64_t worth = worthOf(plan);
    if (worth <= worth_) return;
    worth_ = worth;
    restored_ = reads;
    best_ = std::move(plan);
  }

  // Elements saved less those spent, at the prices of the plan.
  [[nodiscard]] int64_t worthOf(const Plan& plan) const {
    const bool all = options_.policy == Policy::All;
    const int64_t folding = all ? int64_t{1} << 16 : options_.prices.folding;
    const int64_t centering = all ? 1 : options_.prices.centering;
    int64_t worth = 0;
    for (const int norm : plan.folded) worth += folding * elementsOf(graph_, norms_[static_cast<size_t>(norm)].input);
    for (const PlannedEdit& planned : plan.edits) {
      if (const auto* insert = std::get_if<fold::InsertCentering>(&planned.edit))
        worth -= centering * elementsOf(graph_, insert->value);
      const auto* mean = std::get_if<fold::RestoreMean>(&planned.edit);
      if (mean == nullptr) continue;
      worth -= centering * elementsOf(graph_, mean->value);
      for (const auto& linear : mean->linears) {
        const ValueId x = graph_.node(linear.node).operands[static_cast<size_t>(linear.input)];
        worth -= centering * (elementsOf(graph_, x) / kRowsPerElement);
      }
    }
    return worth;
  }

  const Graph& graph_;
  const std::vector<LayerNorm>& norms_;
  const std::vector<fold::AbsorbScale>& scales_;
  const PlanOptions& options_;
  Plan best_;
  int64_t worth_ = 0;
  RestoredReads restored_;  // by the best plan
};

}  // namespace

Plan withCarriedMeans(const Graph& graph, const std::vector<LayerNorm>& norms,
                      const std::vector<fold::AbsorbScale>& scales, const PlanOptions& options, Plan plan) {
  if (options.policy != Policy::Balanced && options.policy != Policy::All) return plan;
  return Carrier(graph, norms, scales, options, std::move(plan)).run();
}

}  // namespace normlens::analysis
