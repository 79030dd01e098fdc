// A text form of a Graph: what a bug report shows. Tests read it back (tests/support/graph_text.h).
//
//   graph {
//     input %x: float32[2,5,8] declared [-1,-1,8]      # sizes that the file fixes, where it does
//     const %fc.weight: float32[8,8] random 1          # or: values 1 2 3 ...; volatile "reason" or declared may follow
//     %h: float32[2,5,8] = Linear(%x, %fc.weight, _) {eps = 1e-05, axes = [2]} op "aten::linear" scope "fc"
//     %q: float32[2,5,8] = Elementwise(%h, 2) function Power op "aten::pow"
//     %a, %b = If(%c) {
//       then (%p: float32[2]) ... return %p
//     }
//     return %h
//   }
// One statement per line. `_` is an absent operand, a number an operand literal. Shapes may be left out (": ?").
// A constant's elements are written in full up to 64 of them, otherwise as the seed of a random draw: so a printed
// graph reads back as an equal one except for the elements of large constants that came from a file.
#pragma once

#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace normlens::graph {

[[nodiscard]] std::string printGraph(const Graph& graph);

}  // namespace normlens::graph
