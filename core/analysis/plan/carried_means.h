// Carries the mean of a residual stream beside it, where the stream is read as it is as well: as a hidden state that
// the model returns, by a layer without a norm. m <- m + w x + b for each linear layer that adds to the stream, with
// the mean w of its rows; x + m for those reads. Not in the papers; docs/method.md 3.6.
#pragma once

#include "core/analysis/norms/norms.h"
#include "core/analysis/plan/planner.h"
#include "core/fold/plan.h"
#include "core/graph/graph.h"

namespace normlens::analysis {

// `plan`, or one with fold::RestoreMean that saves more at the prices of `options`: a mean given back costs what a
// centering does, the row of a linear a sixteenth of its input's elements. For policies that pay at run time. The edits
// name no claims: theirs are not those that `plan` was made of.
[[nodiscard]] Plan withCarriedMeans(const graph::Graph& graph, const std::vector<LayerNorm>& norms,
                                    const std::vector<fold::AbsorbScale>& scales, const PlanOptions& options,
                                    Plan plan);

}  // namespace normlens::analysis
