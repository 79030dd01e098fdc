// Finds what follows a norm in nodes of its own: casts, the product with gamma, the sum with beta.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace normlens::analysis {

struct NormTail {
  std::vector<graph::NodeId> nodes;  // in order, each the only reader of what is before it
  graph::ValueId gamma = graph::kNoValue;
  graph::ValueId beta = graph::kNoValue;
  graph::ValueId output = graph::kNoValue;  // The last node makes it; the norm's own output where there is no tail.
};

struct TailWish {
  bool gamma = true, beta = true;  // which of them to look for
};

// Behind `output` of a norm over `normalizedShape` whose input has the type `dtype`. Gamma and beta are one number per
// normalized element, made of constants alone. A cast ends the tail only where it goes back to `dtype`.
[[nodiscard]] NormTail tailOf(const graph::Graph& graph, graph::ValueId output,
                              const std::vector<int64_t>& normalizedShape, graph::DType dtype, TailWish wish);

// A constant, or what simple arithmetic makes of constants: 1 + gamma.
[[nodiscard]] bool isOfConstants(const graph::Graph& graph, graph::ValueId id);

// A change of the element type, also one that changes nothing: an Identity then.
[[nodiscard]] bool isTypeCast(const graph::Node& node);

}  // namespace normlens::analysis
