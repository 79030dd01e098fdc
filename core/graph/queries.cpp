#include "core/graph/queries.h"

#include <algorithm>
#include <array>
#include <set>

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

namespace {

bool movesElements(OpKind kind) {
  using enum OpKind;
  static constexpr std::array kMoves{Identity, Reshape, Permute, Rearrange, Expand, Slice, Select,
                                     Split,    Unbind,  Concat,  Stack,     Roll,   Gather};
  return std::ranges::find(kMoves, kind) != kMoves.end();
}

}  // namespace

bool isReadWider(const Graph& graph, ValueId value) {
  const DType own = graph.value(value).dtype;
  if (!isFloat(own)) return false;
  std::set<ValueId> seen{value};
  std::vector<ValueId> open{value};
  while (!open.empty()) {
    const ValueId moved = open.back();
    open.pop_back();
    for (const Use& use : graph.value(moved).uses) {
      if (use.node == kNone) continue;
      const Node& node = graph.node(use.node);
      for (const ValueId output : node.outputs) {
        if (mantissaBits(graph.value(output).dtype) > mantissaBits(own)) return true;
        if (movesElements(node.kind) && seen.insert(output).second) open.push_back(output);
      }
    }
  }
  return false;
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
