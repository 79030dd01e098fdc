// A FoldPlan carried out on a graph itself, for the reference interpreter: slow and literal, one edit after the other.
//
// Each read of a tensor has its own history of edits: what an edit does not list it does not change.
#pragma once

#include <vector>

#include "core/analysis/norms/norms.h"
#include "core/analysis/plan/planner.h"
#include "core/graph/graph.h"

namespace normlens::testing {

[[nodiscard]] graph::Graph applyPlan(const graph::Graph& graph, const std::vector<analysis::LayerNorm>& norms,
                                     const analysis::Plan& plan);
// Those of narrow streams as well.
[[nodiscard]] graph::Graph applyPlan(const graph::Graph& graph, const std::vector<analysis::LayerNorm>& norms,
                                     const fold::FoldPlan& plan);

// The plan of one probe size for another: patterns of run-time values follow their axes. `from` and `to` are the same
// model at both sizes. nullopt where a pattern cannot be carried over.
[[nodiscard]] std::optional<analysis::Plan> atOtherSize(analysis::Plan plan, const graph::Graph& from,
                                                        const graph::Graph& to);

}  // namespace normlens::testing
