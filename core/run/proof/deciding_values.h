// Finds the values behind outputs that show little of the arithmetic before them: an index, a flag, a list of boxes
// that is empty on this sample. Two models can agree on those and be far apart. The floating-point values nearest
// before them show it. Thread: pure function.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace normlens::run {

// Returns, for outputs that hold no floating-point number in the probe run, the nearest values before them that do,
// each once, ascending. The search ends at shape queries: they read no number.
[[nodiscard]] std::vector<graph::ValueId> decidingValues(const graph::Graph& graph);

}  // namespace normlens::run
