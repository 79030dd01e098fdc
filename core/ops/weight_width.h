// Decides whether a weight shows how wide a value is that it is multiplied with. Private to ops.
#pragma once

#include "core/graph/graph.h"

namespace normlens::ops {

// Wherever the value exists, a weight is multiplied with it and summed along this axis: a run of another size fails.
[[nodiscard]] bool hasWidthOfAWeight(const graph::Graph& graph, graph::ValueId value, size_t axis);

}  // namespace normlens::ops
