// What a graph without shapes says about one of its inputs: which op reads it first, and what that op demands.
// No torch here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace normlens::formats::torchscript {

struct InputGuess {
  graph::DType dtype = graph::DType::Unknown;  // Int64, or Unknown: nothing says that it is not a float
  std::optional<int64_t> highest;              // of an index: the largest that is valid
  std::vector<graph::Shape> shapes;            // worth trying, the likeliest first; empty: nothing is known
  std::vector<int> fixedAxes;                  // axes whose size the model's weights fix; negative: from the end
  int64_t fixedSize = 0;                       // which they then have
  std::string reason;                          // in words
};

// The fixed axes of this shape: others than the guessed ones may have been found to work.
[[nodiscard]] std::vector<int> fixedAxesOf(const InputGuess& guess, const graph::Shape& shape);

// Follows the value through ops that keep its elements until something reads them in a telling way.
[[nodiscard]] InputGuess guessInput(const graph::Graph& graph, graph::ValueId input);

}  // namespace normlens::formats::torchscript
