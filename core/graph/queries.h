// Questions about values that more than one module asks. Thread: pure functions of an immutable graph.
#pragma once

#include <optional>

#include "core/graph/graph.h"

namespace normlens::graph {

// Both shapes are known and equal, and so are the types: an op from one to the other may be left out.
[[nodiscard]] bool sameTypeAndShape(const Graph& graph, ValueId a, ValueId b);

// The only read of a value's elements; queries of its shape do not count. nullopt: there is none, or several.
[[nodiscard]] std::optional<Use> onlyReader(const Graph& graph, ValueId value);

}  // namespace normlens::graph
