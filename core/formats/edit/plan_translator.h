// A FoldPlan carried out on a format's copy of the model; its tensors are WeightVersions'. Thread: one.
#pragma once

#include <vector>

#include "core/formats/edit/edit_target.h"

namespace normlens::formats {

// Throws EditRefused where the plan cannot be carried out exactly. norms: of the analysis that made the plan.
void translate(const fold::FoldPlan& plan, const graph::Graph& graph, const std::vector<analysis::LayerNorm>& norms,
               EditTarget& target);

[[nodiscard]] bool replacesNorms(const fold::FoldPlan& plan);

}  // namespace normlens::formats
