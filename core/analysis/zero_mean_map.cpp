#include "core/analysis/zero_mean_map.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "core/analysis/claims/reached.h"
#include "core/analysis/graph_names.h"

namespace normlens::analysis {
namespace {

using graph::ConstantId;
using ops::Pattern;

// Collects what a plan does to the values and constants of the graph.
struct PlanEffects {
  std::set<std::pair<ConstantId, Pattern>> centered;  // all reads of the constant
  std::set<ClaimId> forTolerantUses;                  // a copy of a constant, or a centering at run time
  std::set<ValueId> atRunTime;
};

PlanEffects effectsOf(const Plan& plan) {
  PlanEffects effects;
  for (const PlannedEdit& planned : plan.edits) {
    if (const auto* center = std::get_if<fold::CenterConstant>(&planned.edit)) {
      if (center->split) {
        effects.forTolerantUses.insert(planned.claim);
        continue;
      }
      for (const auto& part : center->parts) effects.centered.emplace(part.constant, part.pattern);
    } else if (const auto* insert = std::get_if<fold::InsertCentering>(&planned.edit)) {
      effects.forTolerantUses.insert(planned.claim);
      effects.atRunTime.insert(insert->value);
    } else if (std::holds_alternative<fold::DropAddend>(planned.edit)) {
      effects.forTolerantUses.insert(planned.claim);
    }
  }
  return effects;
}

// Returns which claims hold once the edits are made: everything does until something it needs does not.
std::vector<bool> holding(const Analysis& analysis, const PlanEffects& effects) {
  const auto& claims = analysis.claims.all();
  const auto holdsByItself = [&](const Claim& claim) {
    if (claim.kind == Claim::Kind::Refused) return false;
    if (claim.kind != Claim::Kind::Constant && claim.kind != Claim::Kind::Joint) return true;
    return effects.centered.contains({analysis.scales.graph().value(claim.value).constant, claim.pattern});
  };
  std::vector<std::pair<int, int>> reads;
  std::vector<int> fallen;
  for (size_t i = 0; i < claims.size(); ++i) {
    for (const Need& need : claims[i].needs) {
      const bool served = need.throughTolerantUse && effects.forTolerantUses.contains(need.claim);
      if (!served) reads.emplace_back(need.claim, static_cast<int>(i));
    }
    if (!holdsByItself(claims[i])) fallen.push_back(static_cast<int>(i));
  }
  auto holds = reachedFrom(std::move(fallen), {claims.size(), reads}, claims.size());
  holds.flip();
  return holds;
}

// The constants that a node reads directly or through a chain of transposes and reshapes.
std::set<ConstantId> constantsBehind(const graph::Graph& graph, NodeId node) {
  constexpr int kLongestChain = 8;
  std::set<ConstantId> found;
  for (ValueId id : graph.node(node).operands) {
    for (int step = 0; step < kLongestChain && id != graph::kNoValue; ++step) {
      const auto& value = graph.value(id);
      if (value.constant != kNone) found.insert(value.constant);
      if (value.producer == kNone) break;
      const auto& maker = graph.node(value.producer);
      if (maker.operands.empty() || (maker.kind != graph::OpKind::Permute && maker.kind != graph::OpKind::Reshape))
        break;
      id = maker.operands.front();
    }
  }
  return found;
}

// kNone where the use does not read a constant.
ConstantId constantRead(const graph::Graph& graph, const Use& use) {
  if (use.node == kNone) return kNone;
  const ValueId operand = graph.node(use.node).operands.at(static_cast<size_t>(use.operand));
  return operand == graph::kNoValue ? kNone : graph.value(operand).constant;
}

// The nodes through which a shift with a pattern runs, and where it ends.
class Cone {
 public:
  explicit Cone(const graph::Graph& graph) : graph_(graph) {}

  void add(const Pattern& pattern, const graph::Uses& uses) {
    for (const Use& use : uses) step(use, pattern);
    while (!open_.empty()) {
      const auto [next, with] = std::move(open_.back());
      open_.pop_back();
      for (const Use& use : graph_.value(next).uses) step(use, with);
    }
  }

  ShiftCone take() {
    ShiftCone cone;
    for (const ValueId value : values_) {
      if (graph_.value(value).constant == kNone) cone.values.push_back(value);
    }
    cone.ends.assign(ends_.begin(), ends_.end());
    return cone;
  }

 private:
  void step(const Use& use, const Pattern& pattern) {
    if (use.node == kNone) return stepOut(use, pattern);
    const auto& node = graph_.node(use.node);
    const ops::Shift shift = ops::opRow(node.kind).shift(graph_, node, use.operand, pattern);
    if (shift.verdict != ops::Shift::Verdict::Carried) {
      ends_.insert(use.node);
      return;
    }
    for (const ops::Demand& output : shift.outputs) visit(output.value, output.pattern);
  }

  // Out of a block, as ShiftTolerance goes.
  void stepOut(const Use& use, const Pattern& pattern) {
    const NodeId owner = graph_.block(use.block).owner;
    if (owner == kNone) return;
    const auto& node = graph_.node(owner);
    const auto index = static_cast<size_t>(use.operand);
    if (node.kind == graph::OpKind::If) return visit(node.outputs.at(index), pattern);
    if (index == 0) return;
    visit(node.outputs.at(index - 1), pattern);
    visit(graph_.block(use.block).params.at(index), pattern);
  }

  void visit(ValueId value, const Pattern& pattern) {
    if (!seen_.emplace(value, pattern).second) return;
    values_.insert(value);
    open_.emplace_back(value, pattern);
  }

  const graph::Graph& graph_;
  std::set<std::pair<ValueId, Pattern>> seen_;
  std::vector<std::pair<ValueId, Pattern>> open_;
  std::set<ValueId> values_;
  std::set<NodeId> ends_;
};

}  // namespace

ZeroMeanMap zeroMeanMap(const Analysis& analysis, const Plan& plan) {
  const auto& graph = analysis.scales.graph();
  const auto& claims = analysis.claims.all();
  const PlanEffects planned = effectsOf(plan);
  const auto now = holding(analysis, {}), after = holding(analysis, planned);
  std::map<ValueId, int> best;  // 0 not, 1 after the plan, 2 now
  for (size_t i = 0; i < claims.size(); ++i) {
    const ValueId value = claims[i].value;
    if (graph.value(value).constant != kNone || graph.value(value).literal) continue;
    const bool centered = planned.atRunTime.contains(value);
    const int state = now[i] ? 2 : after[i] || centered ? 1 : 0;
    int& known = best.try_emplace(value, state).first->second;
    known = std::max(known, state);
  }
  ZeroMeanMap map;
  for (const auto& [value, state] : best)
    (state == 2 ? map.now : state == 1 ? map.planned : map.notZero).push_back(value);
  return map;
}

ShiftCone shiftCone(const Analysis& analysis, const Plan& plan, NodeId node) {
  const auto& graph = analysis.scales.graph();
  const std::set<ConstantId> weights = constantsBehind(graph, node);
  Cone cone(graph);
  bool any = false;
  for (const PlannedEdit& planned : plan.edits) {
    const auto* center = std::get_if<fold::CenterConstant>(&planned.edit);
    if (center == nullptr) continue;
    for (const auto& part : center->parts) {
      if (!weights.contains(part.constant)) continue;
      graph::Uses uses;
      std::copy_if(center->uses.begin(), center->uses.end(), std::back_inserter(uses),
                   [&](const Use& use) { return constantRead(graph, use) == part.constant; });
      cone.add(part.pattern, uses);
      any = true;
    }
  }
  auto found = cone.take();
  if (!any) found.reason = "The plan centers none of its weights.";
  return found;
}

}  // namespace normlens::analysis
