// Figures of one constant for the inspector, read piece by piece: a large table is never converted as a whole.
#pragma once

#include "core/graph/graph.h"
#include "core/ops/pattern.h"
#include "core/protocol/messages.h"

namespace normlens::service {

// `centered`: the pattern over which a plan centers it, or nullptr; gives the group means that centering removes.
[[nodiscard]] protocol::TensorStats tensorStats(const graph::Constant& constant, const ops::Pattern* centered);

}  // namespace normlens::service
