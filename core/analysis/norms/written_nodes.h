// Recognizes how a graph writes numbers, squares and views, for every reader of written-out norms. Private to
// core/analysis.
#pragma once

#include <optional>

#include "core/graph/graph.h"

namespace normlens::analysis {

// nullptr: no node makes it.
[[nodiscard]] const graph::Node* producerOf(const graph::Graph& graph, graph::ValueId value);
// A literal, or a constant of one element.
[[nodiscard]] std::optional<double> numberOf(const graph::Graph& graph, graph::ValueId value);
// Returns the value that is squared; kNoValue: not a square.
[[nodiscard]] graph::ValueId squareBase(const graph::Graph& graph, const graph::Node& node);
// A Reshape, Expand or Identity.
[[nodiscard]] bool isView(const graph::Node& node);

}  // namespace normlens::analysis
