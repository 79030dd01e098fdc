// Digests with which two models' weights are compared without holding both in memory.
#pragma once

#include "core/base/task.h"
#include "core/graph/graph.h"
#include "core/protocol/messages.h"

namespace normlens::service {

// Equal texts: the same type, shape and bits. Reads every weight once, in parts. Thread: pure. Errors: Cancelled.
[[nodiscard]] Result<protocol::WeightDigests> weightDigests(const graph::Graph& graph, const Task& task);

}  // namespace normlens::service
