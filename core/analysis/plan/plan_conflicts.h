// Norms whose proof another edit of the same plan takes away.
//
// The cut chooses claim by claim, as if centerings of one value never met. Nearly always that is so: a centering that
// a norm's reads tolerate leaves the norm's groups as they are. The exception: a run-time centering over all channels
// of a value of which some norm reads a part that was zero-mean already, and no more is once the mean of all is gone.
#pragma once

#include <vector>

#include "core/analysis/claims/claims.h"
#include "core/analysis/norms/norms.h"
#include "core/analysis/plan/planner.h"
#include "core/graph/graph.h"

namespace normlens::analysis {

// `good` marks for each claim whether it holds after the edits by what it needs. Ascending indices into plan.folded's
// norms.
[[nodiscard]] std::vector<int> conflictingNorms(const graph::Graph& graph, const std::vector<LayerNorm>& norms,
                                                const Claims& claims, const std::vector<bool>& good, const Plan& plan);

}  // namespace normlens::analysis
