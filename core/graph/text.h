// A text form of a Graph that round-trips: for tests, documentation and bug reports.
//
//   graph {
//     input %x: float32[2,5,8] declared [-1,-1,8]      # sizes that the file fixes, where it does
//     const %fc.weight: float32[8,8] random 1          # or: values 1 2 3 ...; volatile "reason" or declared may follow
//     %h: float32[2,5,8] = Linear(%x, %fc.weight, _) {eps = 1e-05, axes = [2]} op "aten::linear" scope "fc"
//     %a, %b = If(%c) {
//       then (%p: float32[2]) ... return %p
//     }
//     return %h
//   }
// One statement per line. `_` is an absent operand, a number an operand literal. Shapes may be left out (": ?").
// A constant's elements are written in full up to 64 of them, otherwise as the seed of a random draw: so a printed
// graph parses into an equal graph except for the elements of large constants that came from a file.
#pragma once

#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace normlens::graph {

[[nodiscard]] std::string printGraph(const Graph& graph);
// Errors: Usage, with the line number.
[[nodiscard]] Result<Graph> parseGraph(std::string_view text);

// A float32 constant drawn from N(0, 1) with this seed; what `random SEED` means.
[[nodiscard]] TensorView randomTensor(const Shape& shape, uint64_t seed);
// A dense float64 or float32 tensor from numbers.
[[nodiscard]] TensorView tensorFromDoubles(const Shape& shape, const std::vector<double>& numbers,
                                           DType dtype = DType::Float32);

}  // namespace normlens::graph
