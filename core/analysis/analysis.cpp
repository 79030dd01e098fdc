#include "core/analysis/analysis.h"

#include <algorithm>
#include <array>
#include <set>

#include "core/analysis/explain.h"

namespace normlens::analysis {
namespace {

bool listed(const std::vector<int>& items, int item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

void judge(Analysis& analysis, const Planner& planner) {
  const auto free = planner.foldable(Policy::Free);
  // No growth limit: a verdict says what can be done, not what a file may weigh.
  PlanOptions options;
  options.maxGrowthPercent = 1e9;
  analysis.best = planner.plan(options);
  for (int n = 0; n < static_cast<int>(free.size()); ++n) {
    NormVerdict verdict;
    std::set<int> shared;
    for (size_t e = 0; e < analysis.best.edits.size(); ++e) {
      const PlannedEdit& edit = analysis.best.edits[e];
      if (!listed(edit.frees, n)) continue;
      verdict.edits.push_back(e);
      if (!std::holds_alternative<fold::InsertCentering>(edit.edit)) continue;
      ++verdict.centerings;
      shared.insert(edit.frees.begin(), edit.frees.end());
    }
    shared.erase(n);
    verdict.sharedWith.assign(shared.begin(), shared.end());
    if (free[static_cast<size_t>(n)]) {
      verdict.verdict = Verdict::Free;
    } else if (listed(analysis.best.folded, n)) {
      verdict.verdict = Verdict::WithCentering;
    }
    analysis.verdicts.push_back(std::move(verdict));
  }
}

Plan paperPlan(const Analysis& analysis) {
  Plan plan;
  plan.policy = Policy::Paper;
  for (const fold::Edit& edit : analysis.paper.edits) {
    PlannedEdit planned{edit, graph::kNone, {}, 0, 0};
    if (const auto* replace = std::get_if<fold::ReplaceNorm>(&edit)) {
      plan.folded.push_back(replace->norm);
      planned.frees = {replace->norm};
    }
    if (std::holds_alternative<fold::InsertCentering>(edit)) ++plan.centerings;
    plan.edits.push_back(std::move(planned));
  }
  return plan;
}

}  // namespace

std::string_view verdictName(Verdict verdict) {
  constexpr std::array<std::string_view, 3> kNames = {"free", "with_centering", "blocked"};
  return kNames.at(static_cast<size_t>(verdict));
}

Result<std::unique_ptr<Analysis>> analyze(const graph::Graph& graph, const Task& task) {
  auto analysis = std::make_unique<Analysis>();
  analysis->norms = findNorms(graph);
  analysis->scales = absorbScales(graph);
  const auto& norms = analysis->norms.layerNorms;
  auto claims = Claims::build(analysis->scales.graph, norms, task);
  if (!claims) return tl::unexpected(claims.error());
  analysis->claims = std::move(*claims);
  const Planner planner(analysis->scales.graph, norms, analysis->claims, analysis->scales.edits);
  judge(*analysis, planner);
  analysis->paper = paperCriteria(graph, norms);
  explainVerdicts(*analysis);
  return analysis;
}

Plan makePlan(const Analysis& analysis, const PlanOptions& options) {
  if (options.policy == Policy::Paper) return paperPlan(analysis);
  return Planner(analysis.scales.graph, analysis.norms.layerNorms, analysis.claims, analysis.scales.edits)
      .plan(options);
}

}  // namespace normlens::analysis
