#include "core/analysis/analysis.h"

#include <algorithm>
#include <array>
#include <future>
#include <iterator>
#include <map>
#include <set>

#include "core/analysis/claims/gains.h"
#include "core/analysis/claims/shifts.h"
#include "core/analysis/explain.h"
#include "core/analysis/graph_names.h"
#include "core/analysis/plan/carried_means.h"
#include "core/analysis/plan/given_plan.h"
#include "core/ops/node_class.h"

namespace normlens::analysis {
namespace {

void judge(Analysis& analysis, const Planner& planner) {
  // No growth limit: a verdict is what can be done, not what a file may weigh.
  PlanOptions options;
  options.maxGrowthPercent = 1e9;
  options.policy = Policy::Free;
  Plan free = planner.plan(options);
  const std::vector<int> foldedFreely = free.folded;
  options.policy = Policy::Balanced;
  // No other plan is better than one that folds every candidate without a centering.
  analysis.best = free.folded.size() == planner.candidates() ? std::move(free) : planner.plan(options);
  auto& verdicts = analysis.verdicts;
  const size_t count = analysis.norms.layerNorms.size();
  verdicts.resize(count);
  std::vector<int> begun(count + 1, 0);  // edits whose norms begin here, less those whose norms ended before
  for (size_t e = 0; e < analysis.best.edits.size(); ++e) {
    const PlannedEdit& edit = analysis.best.edits[e];
    if (std::holds_alternative<fold::ReplaceNorm>(edit.edit)) continue;
    for (const IndexRange& range : edit.frees.ranges()) {
      ++begun[static_cast<size_t>(range.first)];
      --begun[static_cast<size_t>(range.last) + 1];
    }
    const bool drops = std::holds_alternative<fold::DropAddend>(edit.edit);
    const bool copies = edit.bytesGrown > 0;
    if (!drops && !copies && !std::holds_alternative<fold::InsertCentering>(edit.edit)) continue;
    for (const int norm : edit.frees.indices()) {
      NormVerdict& verdict = verdicts[static_cast<size_t>(norm)];
      verdict.dropsAddends = verdict.dropsAddends || drops;
      if (copies) verdict.copies.push_back(e);
      if (drops || copies) continue;
      verdict.centerings.push_back(e);
      verdict.sharedWith.merge(edit.frees);
    }
  }
  for (const int norm : analysis.best.folded) verdicts[static_cast<size_t>(norm)].verdict = Verdict::WithCentering;
  for (const int norm : foldedFreely) verdicts[static_cast<size_t>(norm)].verdict = Verdict::Free;
  int edits = 0;
  for (size_t n = 0; n < count; ++n) {
    edits += begun[n];
    verdicts[n].needsEdits = edits > 0;
    verdicts[n].sharedWith.remove(static_cast<int>(n));
  }
}

// Reads the norms, the scales and the claims only. Errors: those of Claims::build.
Result<PaperCriteria> paperVerdicts(const graph::Graph& graph, const Analysis& analysis, FiniteWeights& weights,
                                    const Task& task) {
  const auto& norms = analysis.norms.layerNorms;
  if (!analysis.scales.changed) return paperCriteria(graph, norms, analysis.claims);
  ASSIGN_OR_RETURN(const auto asGiven,
                   Claims::build(graph, norms, weights, task));  // the papers know nothing of absorbed scales
  return paperCriteria(graph, norms, asGiven);
}

// A large graph lies in no cache: two threads that wait for memory wait half as long. A small one is done before
// another thread has begun.
std::launch howAside(const graph::Graph& graph) {
  constexpr size_t kLarge = 4096;  // nodes
  return graph.nodes.size() > kLarge ? std::launch::async : std::launch::deferred;
}

Plan paperPlan(const Analysis& analysis) {
  Plan plan = givenPlan(Policy::Paper, analysis.paper.edits, analysis.scales.graph());
  findServedNorms(analysis, plan);
  return plan;
}

Planner plannerOf(const Analysis& analysis) {
  return {analysis.scales.graph(), analysis.norms.layerNorms, analysis.claims, analysis.scales.edits};
}

std::set<graph::ValueId> changedAtRunTime(const Graph& graph, const Plan& plan) {
  std::set<graph::ValueId> values;
  for (const PlannedEdit& planned : plan.edits) {
    if (const auto* insert = std::get_if<fold::InsertCentering>(&planned.edit)) values.insert(insert->value);
    if (const auto* drop = std::get_if<fold::DropAddend>(&planned.edit)) values.insert(drop->value);
    // Its rows read what the linears read as it was.
    if (const auto* mean = std::get_if<fold::RestoreMean>(&planned.edit)) {
      for (const auto& linear : mean->linears)
        values.insert(graph.node(linear.node).operands[static_cast<size_t>(linear.input)]);
    }
  }
  return values;
}

// A beta or a gamma moves on as long as nothing between its norm and the linears, and none of these tensors, is to be
// changed or kept as it is.
class Moves {
 public:
  Moves(const Analysis& analysis, const PlanOptions& options, Plan& plan)
      : analysis_(analysis), graph_(*analysis.scales.original), plan_(plan), changed_(changedAtRunTime(graph_, plan)) {
    for (const graph::ValueId value : options.keepValues) kept_.insert(graph_.value(value).constant);
  }

  void moveShifts() {
    for (const int norm : plan_.folded) {
      auto shift = movableShift(graph_, analysis_.norms.layerNorms[static_cast<size_t>(norm)]);
      if (!shift || !mayLack(shift->between)) continue;
      if (std::ranges::any_of(shift->edit.parts, [&](const auto& part) { return kept_.contains(part.bias); })) continue;
      add(std::move(shift->edit), norm);
    }
    insert();
  }

  // Behind the shifts.
  void moveGains() {
    std::map<int, const fold::AbsorbShift*> shifts;
    for (const PlannedEdit& planned : plan_.edits) {
      if (const auto* shift = std::get_if<fold::AbsorbShift>(&planned.edit)) shifts[shift->norm] = shift;
    }
    for (const int norm : plan_.folded) {
      const auto shift = shifts.find(norm);
      moveGain(movableGain(graph_, analysis_.norms.layerNorms[static_cast<size_t>(norm)],
                           shift == shifts.end() ? nullptr : shift->second),
               norm);
    }
    for (const OtherNorm& norm : analysis_.norms.others) {
      if (norm.kind == OtherNormKind::RmsNorm) moveGain(movableGain(graph_, norm), graph::kNone);
    }
    insert();
  }

 private:
  void moveGain(tl::expected<MovableGain, Obstacle> gain, int norm) {
    if (!gain || !mayLack(gain->between)) return;
    if (std::ranges::any_of(gain->edit.parts, [&](const auto& part) { return kept_.contains(part.weight); })) return;
    add(std::move(gain->edit), norm);
  }

  [[nodiscard]] bool mayLack(const std::vector<graph::ValueId>& between) const {
    return std::ranges::none_of(between, [&](graph::ValueId value) { return changed_.contains(value); });
  }

  template <class Edit>
  void add(Edit edit, int norm) {
    const int64_t bytes = bytesOf(edit, graph_);
    PlannedEdit planned{std::move(edit), graph::kNone, {}, bytes, 0};
    if (norm != graph::kNone) planned.frees = {norm};
    made_.push_back(std::move(planned));
  }

  void insert() {
    const auto replacements = std::ranges::find_if(plan_.edits, [](const PlannedEdit& planned) {
      return std::holds_alternative<fold::ReplaceNorm>(planned.edit);
    });
    plan_.edits.insert(replacements, std::make_move_iterator(made_.begin()), std::make_move_iterator(made_.end()));
    made_.clear();
  }

  const Analysis& analysis_;
  const Graph& graph_;
  Plan& plan_;
  std::set<graph::ValueId> changed_;
  std::set<graph::ConstantId> kept_;
  std::vector<PlannedEdit> made_;
};

class Builder {
 public:
  Builder(const Analysis& analysis, int norm) : analysis_(analysis), graph_(analysis.scales.graph()), norm_(norm) {
    for (const size_t index : analysis.verdicts[static_cast<size_t>(norm)].centerings) {
      centered_.insert(analysis.best.edits[index].claim);
    }
    for (const PlannedEdit& planned : analysis.best.edits) {
      const bool drops = std::holds_alternative<fold::DropAddend>(planned.edit);
      if (drops && planned.frees.contains(norm)) dropped_.insert(planned.claim);
    }
  }

  ZeroMeanGraph run() {
    const LayerNorm& norm = analysis_.norms.layerNorms[static_cast<size_t>(norm_)];
    vertex(norm.node, NodeClass::LayerNorm, "the norm");
    values_.insert(norm.input);
    const ClaimId root = analysis_.claims.root(norm_);
    if (root != kNone) {
      std::vector<ClaimId> queue{root};
      std::set<ClaimId> seen{root};
      while (!queue.empty()) {
        const ClaimId id = queue.back();
        queue.pop_back();
        for (const ClaimId next : visit(id)) {
          if (seen.insert(next).second) queue.push_back(next);
        }
      }
    }
    // The layer that could be centered, and may not, notes why.
    const auto& blocker = analysis_.verdicts[static_cast<size_t>(norm_)].blocker;
    for (ZeroMeanVertex& at : out_.vertices) {
      if (blocker && at.node == blocker->node && at.vertexClass != NodeClass::Opaque) at.note = blocker->reason;
    }
    out_.values.assign(values_.begin(), values_.end());
    return std::move(out_);
  }

 private:
  // Returns the claims to go on with.
  std::vector<ClaimId> visit(ClaimId id) {
    const Claim& claim = analysis_.claims[id];
    const auto& value = graph_.value(claim.value);
    if (value.constant == kNone) values_.insert(claim.value);
    if (centered_.contains(id)) {
      if (value.producer != kNone) vertex(value.producer, NodeClass::Centering, "centered at run time");
      leaf(describeValue(graph_, claim.value) + ": centered at run time");
      return {};
    }
    if (dropped_.contains(id)) {
      if (value.producer != kNone) vertex(value.producer, NodeClass::ZeroMean, "constant along the channels: dropped");
      leaf(describeValue(graph_, claim.value) + ": dropped");
      return {};
    }
    switch (claim.kind) {
      case Claim::Kind::Constant:
      case Claim::Kind::Joint:
        leaf(graph_.constant(value.constant).name + (claim.tolerated() ? ": centered" : ": a centered copy"));
        return {};
      case Claim::Kind::Refused:
        if (value.producer != kNone) vertex(value.producer, NodeClass::Opaque, "not zero-mean: " + claim.reason);
        leaf(describeValue(graph_, claim.value) + ": " + claim.reason);
        return {};
      case Claim::Kind::Proven:
        if (value.producer != kNone) vertex(value.producer, NodeClass::ZeroMean, "zero-mean already");
        return {};
      case Claim::Kind::Derived:
        break;
    }
    derived(claim);
    std::vector<ClaimId> next;
    for (const Need& need : claim.needs) next.push_back(need.claim);
    return next;
  }

  void derived(const Claim& claim) {
    const auto& value = graph_.value(claim.value);
    if (value.producer == kNone) return;
    const auto& node = graph_.node(value.producer);
    // A linear whose own weight is centered is a leaf; one that passes zero-mean values on is on the way.
    const bool byWeight = std::any_of(claim.needs.begin(), claim.needs.end(),
                                      [&](const Need& need) { return isWeight(analysis_.claims[need.claim].value); });
    // Here both addends have zero mean, whatever their shapes.
    const NodeClass is = ops::isComputedSum(graph_, node) ? NodeClass::Residual : ops::nodeClass(graph_, node);
    vertex(value.producer, is, byWeight ? "its constants are centered" : "passes zero-mean values on");
  }

  [[nodiscard]] bool isWeight(ValueId id) const {
    for (int step = 0; step < 8; ++step) {
      const auto& value = graph_.value(id);
      if (value.constant != kNone) return true;
      if (value.producer == kNone || graph_.node(value.producer).kind != graph::OpKind::Permute) return false;
      id = graph_.node(value.producer).operands.at(0);
    }
    return false;
  }

  void vertex(NodeId node, NodeClass is, std::string note) {
    if (seen_.insert(node).second) out_.vertices.push_back({node, is, std::move(note)});
  }
  void leaf(std::string text) {
    if (std::find(out_.leaves.begin(), out_.leaves.end(), text) == out_.leaves.end())
      out_.leaves.push_back(std::move(text));
  }

  const Analysis& analysis_;
  const Graph& graph_;
  int norm_;
  std::set<ClaimId> centered_, dropped_;
  std::set<NodeId> seen_;
  std::set<ValueId> values_;
  ZeroMeanGraph out_;
};

}  // namespace

Result<std::unique_ptr<Analysis>> analyze(const graph::Graph& graph, const Task& task) {
  FiniteWeights weights;
  return analyze(graph, weights, task);
}

Result<std::unique_ptr<Analysis>> analyze(const graph::Graph& graph, FiniteWeights& weights, const Task& task) {
  auto analysis = std::make_unique<Analysis>();
  analysis->bytesOfConstants = bytesOfConstants(graph);
  const auto aside = howAside(graph);
  auto scales = std::async(aside, [&] { return absorbScales(graph); });
  analysis->norms = findNorms(graph);
  analysis->scales = scales.get();
  const auto& norms = analysis->norms.layerNorms;
  ASSIGN_OR_RETURN(auto claims, Claims::build(analysis->scales.graph(), norms, weights, task));
  analysis->claims = std::move(claims);
  const Planner planner(analysis->scales.graph(), norms, analysis->claims, analysis->scales.edits);
  auto paper = std::async(aside, [&] { return paperVerdicts(graph, *analysis, weights, task); });
  judge(*analysis, planner);
  ASSIGN_OR_RETURN(auto criteria, paper.get());
  analysis->paper = std::move(criteria);
  explainVerdicts(*analysis);
  return analysis;
}

Plan makePlan(const Analysis& analysis, const PlanOptions& options) {
  if (options.policy == Policy::Paper) return paperPlan(analysis);
  Plan plan = plannerOf(analysis).plan(options);
  if (options.carryMeans) {
    plan = withCarriedMeans(analysis.scales.graph(), analysis.norms.layerNorms, analysis.scales.edits, options,
                            std::move(plan));
  }
  if (!options.moveShifts && !options.foldGains) return plan;
  Moves moves(analysis, options, plan);
  if (options.moveShifts) moves.moveShifts();
  if (options.foldGains) moves.moveGains();
  return plan;
}

CutPicture cutPicture(const Analysis& analysis, const PlanOptions& options, size_t described) {
  return plannerOf(analysis).cutPicture(options, described);
}

ZeroMeanGraph zeroMeanGraph(const Analysis& analysis, int norm) { return Builder(analysis, norm).run(); }

void findServedNorms(const Analysis& analysis, Plan& plan) {
  const graph::Graph& graph = analysis.scales.graph();
  std::map<graph::NodeId, int> normAt;
  for (const int norm : plan.folded) {
    for (const graph::NodeId member : analysis.norms.layerNorms[static_cast<size_t>(norm)].members)
      normAt[member] = norm;
  }
  for (PlannedEdit& planned : plan.edits) {
    const auto* insert = std::get_if<fold::InsertCentering>(&planned.edit);
    if (insert == nullptr) continue;
    std::set<graph::NodeId> seen;
    std::vector<graph::NodeId> queue;
    const auto enqueue = [&](const graph::Uses& uses) {
      for (const auto& use : uses) {
        const graph::NodeId reader = use.node != graph::kNone ? use.node : graph.block(use.block).owner;
        if (reader != graph::kNone && seen.insert(reader).second) queue.push_back(reader);
      }
    };
    enqueue(insert->uses);
    while (!queue.empty()) {
      const graph::NodeId node = queue.back();
      queue.pop_back();
      if (const auto norm = normAt.find(node); norm != normAt.end()) {
        planned.frees.add(norm->second);  // its results are made anew
        continue;
      }
      for (const ValueId output : graph.node(node).outputs) enqueue(graph.value(output).uses);
    }
  }
}

CenteringPreview previewCentering(const Analysis& analysis, graph::ValueId value) {
  const auto& graph = analysis.scales.graph();
  CenteringPreview preview;
  const Claim* asked = nullptr;
  for (const Claim& claim : analysis.claims.all()) {
    if (claim.value != value) continue;
    if (asked == nullptr || asked->tolerantUses.size() < claim.tolerantUses.size()) asked = &claim;
  }
  if (asked == nullptr) {
    const auto unknown = std::ranges::count(analysis.verdicts, Verdict::Unknown, &NormVerdict::verdict);
    preview.reason = unknown == 0 ? "No LayerNorm depends on the mean of this value."
                                  : "No LayerNorm is known to depend on the mean of this value; of " +
                                        std::to_string(unknown) + " no run has shown what decides.";
    return preview;
  }
  if (asked->tolerantUses.empty()) {
    const std::string reader =
        asked->otherNode == graph::kNone ? "a model output" : describeNode(graph, asked->otherNode);
    preview.reason = "Centering it would change " + reader + ": " + *asked->otherReason + ".";
    return preview;
  }
  PlanOptions without;
  without.policy = Policy::Free;
  PlanOptions with = without;
  with.centerValues = {value};
  const Plan before = makePlan(analysis, without);
  const Plan after = makePlan(analysis, with);
  std::set_difference(after.folded.begin(), after.folded.end(), before.folded.begin(), before.folded.end(),
                      std::back_inserter(preview.frees));
  preview.allowed = after.centerings > 0;
  if (!preview.allowed) {
    preview.reason = "Centering it frees no LayerNorm that is not free already.";
    return preview;
  }
  const std::string count = std::to_string(preview.frees.size());
  preview.reason = "One centering at run time frees " + count +
                   (preview.frees.size() == 1 ? " LayerNorm; it costs what it saves." : " LayerNorms.");
  return preview;
}

}  // namespace normlens::analysis
