// The constant that an operand is, seen through transpositions and copies.
#pragma once

#include <optional>

#include "core/graph/graph.h"

namespace normlens::analysis {

struct ConstantBehind {
  graph::ConstantId constant = graph::kNone;
  int64_t axis = 0;         // The constant's axis that the given axis of the operand is.
  graph::Use use;           // the read of the constant that leads here
  bool soleReader = false;  // nothing else reads the constant, or what is made of it on the way
};

// The constant that a value is, element by element in row-major order, seen through copies and views to sizes that the
// file writes: the same for every input. kNoValue where it is none, or one whose value may change.
[[nodiscard]] graph::ValueId constantInView(const graph::Graph& graph, graph::ValueId id);

// nullopt where it is not a constant, or one whose value may change.
[[nodiscard]] std::optional<ConstantBehind> constantBehind(const graph::Graph& graph, const graph::Use& operand,
                                                           int64_t axis);

}  // namespace normlens::analysis
