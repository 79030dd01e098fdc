// Graphs from the text that graph::printGraph() writes. Thread: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "core/graph/graph.h"
#include "core/graph/numbers.h"
#include "core/graph/text.h"

namespace normlens::graph {

// Errors: Usage, with the line number.
[[nodiscard]] Result<Graph> parseGraph(std::string_view text);
// The same, for texts that are right. Throws std::logic_error.
[[nodiscard]] Graph parsed(const std::string& text);

// A float32 constant drawn from N(0, 1) with this seed; what `random SEED` means.
[[nodiscard]] TensorView randomTensor(const Shape& shape, uint64_t seed);

}  // namespace normlens::graph
