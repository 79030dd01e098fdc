#include "core/graph/queries.h"

#include <algorithm>

namespace normlens::graph {

bool sameTypeAndShape(const Graph& graph, ValueId a, ValueId b) {
  const Value& first = graph.value(a);
  const Value& second = graph.value(b);
  return first.shape && first.shape == second.shape && first.dtype == second.dtype;
}

bool isHeld(const Graph& graph, ValueId value) {
  const ConstantId constant = value == kNoValue ? kNone : graph.value(value).constant;
  return constant != kNone && graph.constant(constant).volatileReason.empty();
}

bool isSizeDeclared(const Value& input, size_t axis) {
  return input.declared && axis < input.declared->size() && (*input.declared)[axis] >= 0;
}

bool areRanksDeclared(const Graph& graph) {
  return std::ranges::all_of(graph.inputs(), [&](ValueId input) { return graph.value(input).declared.has_value(); });
}

bool isReadWider(const Graph& graph, ValueId value) {
  const DType own = graph.value(value).dtype;
  return isFloat(own) && std::ranges::any_of(graph.value(value).uses, [&](const Use& use) {
           if (use.node == kNone || graph.node(use.node).outputs.empty()) return false;
           return mantissaBits(graph.value(graph.node(use.node).outputs[0]).dtype) > mantissaBits(own);
         });
}

std::optional<Use> onlyReader(const Graph& graph, ValueId value) {
  std::optional<Use> found;
  for (const Use& use : graph.value(value).uses) {
    if (use.node != kNone && graph.node(use.node).kind == OpKind::ShapeQuery) continue;
    if (found) return std::nullopt;
    found = use;
  }
  return found;
}

std::vector<ValueId> valuesOfConstants(const Graph& graph) {
  std::vector<ValueId> values(graph.constants.size(), kNoValue);
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const auto constant = graph.values[v].constant;
    if (constant != kNone) values[static_cast<size_t>(constant)] = static_cast<ValueId>(v);
  }
  return values;
}

bool asksByAxis(const Node& node) {
  return node.kind == OpKind::ShapeQuery && !floatAttribute(node, "fill") && !boolAttribute(node, "counts");
}

}  // namespace normlens::graph
