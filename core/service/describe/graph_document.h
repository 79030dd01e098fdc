// The graph as the window draws it.
#pragma once

#include "core/analysis/norms/norms.h"
#include "core/graph/graph.h"
#include "core/protocol/messages.h"

namespace normlens::service {

// Nodes of the graph keep their ids; one node per graph input and output follows them.
[[nodiscard]] protocol::GraphDocument graphDocument(const graph::Graph& graph, const analysis::Norms& norms);
// Returns all values, in id order.
[[nodiscard]] std::vector<protocol::GraphValue> graphValues(const graph::Graph& graph);
// Returns the constant behind a value that a client names. Error: Usage.
[[nodiscard]] Result<graph::ConstantId> constantOf(const graph::Graph& graph, int value);

}  // namespace normlens::service
