// Finds where the gamma of an RMSNorm can go, of one that was there before as of one that a fold makes: into the
// weights of linear layers that are all that reads the norm.
//
//  y = gamma * n;  y W1^T, y W2^T ...   =   n (W1 diag(gamma))^T, n (W2 diag(gamma))^T ...
// docs/method.md 8.4. Thread: pure functions of an immutable graph.
#pragma once

#include <vector>

#include <tl/expected.hpp>

#include "core/analysis/claims/linear_readers.h"
#include "core/analysis/norms/norms.h"
#include "core/fold/plan.h"
#include "core/graph/graph.h"

namespace normlens::analysis {

struct MovableGain {
  fold::AbsorbGain edit;
  // These values lie between gamma and the linears: they lack gamma after the edit. It is exact as long as no run-time
  // centering is there.
  std::vector<graph::ValueId> between;
};

[[nodiscard]] tl::expected<MovableGain, Obstacle> movableGain(const graph::Graph& graph, const OtherNorm& rmsNorm);
// The norm is one that folds. shift: the edit that moves its beta; null: beta does not move.
[[nodiscard]] tl::expected<MovableGain, Obstacle> movableGain(const graph::Graph& graph, const LayerNorm& norm,
                                                              const fold::AbsorbShift* shift);

}  // namespace normlens::analysis
