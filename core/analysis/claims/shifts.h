// Finds where the beta of a LayerNorm can go: into the biases of linear layers that are all that reads the norm.
//
//  y = n + beta;  y W1 + b1, y W2 + b2 ...   =   n W1 + (b1 + beta W1), n W2 + (b2 + beta W2) ...
// Between norm and linears only ops that leave every channel at its place on the last axis: views, slices and averages
// over other axes. docs/method.md 8.2.
#pragma once

#include <optional>
#include <vector>

#include "core/analysis/norms/norms.h"
#include "core/fold/plan.h"
#include "core/graph/graph.h"

namespace normlens::analysis {

struct MovableShift {
  fold::AbsorbShift edit;
  // These values lie between beta and the biases: they lack beta after the edit. It is exact as long as no run-time
  // centering is there.
  std::vector<graph::ValueId> between;
};

// nullopt where beta is absent or has to stay. `graph` as it was read, with shapes.
[[nodiscard]] std::optional<MovableShift> movableShift(const graph::Graph& graph, const LayerNorm& norm);

}  // namespace normlens::analysis
