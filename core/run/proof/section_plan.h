// A plan for a whole model, as far as it is about one section of it (formats/model.h): the same edits, by the names
// that values and constants have in both. Private to core/run. Thread: pure function.
#pragma once

#include <vector>

#include "core/analysis/norms/norms.h"
#include "core/fold/plan.h"
#include "core/graph/graph.h"

namespace normlens::run {

struct NormsOfGraph {
  const graph::Graph& graph;
  const std::vector<analysis::LayerNorm>& norms;
};

// An edit of which the section has nothing is left out; of one that it has a part of, that part.
[[nodiscard]] fold::FoldPlan planOfSection(const fold::FoldPlan& plan, const NormsOfGraph& whole,
                                           const NormsOfGraph& section);

}  // namespace normlens::run
