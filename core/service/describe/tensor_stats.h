// Figures of one constant for the inspector, read part by part: a large table is never converted as a whole.
#pragma once

#include "core/base/task.h"
#include "core/graph/graph.h"
#include "core/ops/pattern.h"
#include "core/protocol/messages.h"

namespace normlens::service {

// `centered`: the pattern over which a plan centers it, or nullptr. All sums in float64. Errors: Unsupported (elements
// that are no real numbers), Cancelled.
[[nodiscard]] Result<protocol::TensorStats> tensorStats(const graph::Constant& constant, const ops::Pattern* centered,
                                                        const Task& task);

}  // namespace normlens::service
