// Guesses one input of a graph without shapes from the op that reads it first and what that op demands. No torch here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace normlens::formats::torchscript {

struct InputGuess {
  graph::DType dtype = graph::DType::Unknown;  // Int64, or Unknown: nothing shows that it is not a float
  std::optional<int64_t> highest;              // An index may be no larger.
  std::vector<graph::Shape> shapes;            // worth trying, the likeliest first; empty: nothing is known
  std::string reason;                          // in words
};

// Follows the value through ops that keep its elements until something reads them in a way that shows their use.
[[nodiscard]] InputGuess guessInput(const graph::Graph& graph, graph::ValueId input);

}  // namespace normlens::formats::torchscript
