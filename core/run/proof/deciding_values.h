// What stands behind outputs that show little of the arithmetic before them: an index, a flag, a list of boxes that is
// empty on this sample. Two models can agree on those and be far apart. The floating-point values nearest before them
// tell. Thread: pure function.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace normlens::run {

// Of the outputs that hold no floating-point number in the probe run: the nearest values before them that do, each
// once, ascending. Behind shape queries nothing is looked for: they read no number.
[[nodiscard]] std::vector<graph::ValueId> decidingValues(const graph::Graph& graph);

}  // namespace normlens::run
