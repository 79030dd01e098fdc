// Queries of values that more than one module needs. Thread: pure functions of an immutable graph.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace normlens::graph {

// Both shapes are known and equal, and so are the types: an op from one to the other may be left out.
[[nodiscard]] bool sameTypeAndShape(const Graph& graph, ValueId a, ValueId b);

// A constant that no run has otherwise.
[[nodiscard]] bool isHeld(const Graph& graph, ValueId value);

// The file fixes the size of that axis of an input; the number of axes of every input.
[[nodiscard]] bool isSizeDeclared(const Value& input, size_t axis);
[[nodiscard]] bool areRanksDeclared(const Graph& graph);

// By constant: the value that it is; kNoValue where nothing reads it.
[[nodiscard]] std::vector<ValueId> valuesOfConstants(const Graph& graph);

// A query that is answered anew once an axis has another size: it asks for sizes one by one, or for none.
[[nodiscard]] bool asksByAxis(const Node& node);

// The only read of a value's elements; queries of its shape do not count. nullopt: there is none, or several.
[[nodiscard]] std::optional<Use> onlyReader(const Graph& graph, ValueId value);
// A read makes floats of a wider type of it, by a cast or by promotion, also after its elements were moved: another
// number in its place is rounded to its own type first, which shows there.
[[nodiscard]] bool isReadWider(const Graph& graph, ValueId value);

}  // namespace normlens::graph
