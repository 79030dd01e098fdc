// Addends and fills that go away with a norm's mean: values that are constant along its axes. Thread: pure.
#pragma once

#include "core/graph/graph.h"
#include "core/ops/pattern.h"

namespace normlens::analysis {

// To have 0 in the place of `value` is a shift of it with this pattern, for all reads that tolerate one; these are
// `uses`. A tensor of the file is none of them: it is centered itself. What is computed is taken to be finite.
[[nodiscard]] bool isDroppable(const graph::Graph& graph, graph::ValueId value, const ops::Pattern& pattern,
                               const graph::Uses& uses);

}  // namespace normlens::analysis
