// A plan of edits that somebody else chose: the papers, or a file. Thread: pure function.
#pragma once

#include <vector>

#include "core/analysis/plan/planner.h"

namespace normlens::analysis {

// In the planner's own terms: what each edit takes and adds, which norms are folded.
[[nodiscard]] Plan givenPlan(Policy policy, const std::vector<fold::Edit>& edits, const graph::Graph& graph);

}  // namespace normlens::analysis
