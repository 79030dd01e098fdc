#include "core/analysis/plan/given_plan.h"

#include <utility>
#include <variant>

namespace normlens::analysis {

Plan givenPlan(Policy policy, const std::vector<fold::Edit>& edits, const graph::Graph& graph) {
  Plan plan;
  plan.policy = policy;
  for (const fold::Edit& edit : edits) {
    PlannedEdit planned;
    planned.edit = edit;
    planned.bytes = bytesOf(edit, graph);
    if (const auto* center = std::get_if<fold::CenterConstant>(&edit)) {
      planned.bytesGrown = center->split ? planned.bytes : 0;
    }
    if (const auto* shift = std::get_if<fold::AbsorbShift>(&edit)) planned.frees = {shift->norm};
    if (std::holds_alternative<fold::InsertCentering>(edit)) ++plan.centerings;
    if (const auto* replace = std::get_if<fold::ReplaceNorm>(&edit)) {
      plan.folded.push_back(replace->norm);
      planned.frees = {replace->norm};
    }
    plan.bytesGrown += planned.bytesGrown;
    plan.edits.push_back(std::move(planned));
  }
  return plan;
}

}  // namespace normlens::analysis
