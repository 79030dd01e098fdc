// Ops that leave every channel of a norm's output at its place on the last axis. Thread: pure functions of an immutable
// graph.
#pragma once

#include <cstdint>

#include "core/graph/graph.h"

namespace normlens::analysis {

// Every element of the outputs is an element of operand 0, or an average of some, of the same channel (last axis).
[[nodiscard]] bool keepsChannels(const graph::Graph& graph, const graph::Node& node, int64_t channels);

}  // namespace normlens::analysis
