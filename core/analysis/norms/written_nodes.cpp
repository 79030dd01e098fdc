#include "core/analysis/norms/written_nodes.h"

#include "core/analysis/graph_names.h"

namespace normlens::analysis {

using graph::Function;

const Node* producerOf(const Graph& graph, ValueId value) {
  if (value == kNoValue || graph.value(value).producer == kNone) return nullptr;
  return &graph.node(graph.value(value).producer);
}

std::optional<double> numberOf(const Graph& graph, ValueId value) {
  if (value == kNoValue) return std::nullopt;
  const auto& held = graph.value(value);
  if (held.literal) return held.literal;
  if (held.constant == kNone || !graph.constant(held.constant).volatileReason.empty()) return std::nullopt;
  const auto& view = graph.constant(held.constant).view;
  if (graph::elementCount(view.shape) != 1) return std::nullopt;
  const auto numbers = graph::toDoubles(view);
  return numbers ? std::optional(numbers->front()) : std::nullopt;
}

ValueId squareBase(const Graph& graph, const Node& node) {
  const bool squares =
      (node.kind == OpKind::Mul && node.operands.size() == 2 && node.operands[0] == node.operands[1]) ||
      node.function == Function::Square ||
      (node.function == Function::Power && node.operands.size() > 1 && numberOf(graph, node.operands[1]) == 2.0);
  return squares ? graph::operandAt(node, 0) : kNoValue;
}

bool isView(const Node& node) {
  return node.kind == OpKind::Reshape || node.kind == OpKind::Expand || node.kind == OpKind::Identity;
}

}  // namespace normlens::analysis
