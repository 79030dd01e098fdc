#include "core/ops/weight_width.h"

#include <algorithm>

#include "core/graph/queries.h"
#include "core/ops/index_maps.h"

namespace normlens::ops {
namespace {

using graph::Graph;
using graph::kNone;
using graph::kNoValue;
using graph::Node;
using graph::OpKind;
using graph::ValueId;

// A constant, perhaps turned. Not one that may be another in a run (an initializer that is an input, too).
bool isWeight(const Graph& graph, ValueId value) {
  while (value != kNoValue && graph.value(value).producer != kNone) {
    const Node& node = graph.node(graph.value(value).producer);
    if (node.kind != OpKind::Permute && node.kind != OpKind::Cast && node.kind != OpKind::Identity) return false;
    value = node.operands[0];
  }
  return value != kNoValue && graph::isHeld(graph, value);
}

bool contractsWithWeight(const Graph& graph, const graph::Use& use, size_t axis, size_t rank) {
  const Node& node = graph.node(use.node);
  const int data = node.kind == OpKind::AddMatMul ? 1 : 0;
  const ValueId other = graph::operandAt(node, static_cast<size_t>(data) + 1);
  const graph::Shape* shape = shapeOf(graph, other);
  if (use.operand != data || shape == nullptr || shape->size() < 2 || !isWeight(graph, other)) return false;
  switch (node.kind) {
    case OpKind::Linear:
    case OpKind::MatMul:
    case OpKind::AddMatMul:
      return axis + 1 == rank;
    case OpKind::Conv:
      return axis == 1 && rank == shape->size();
    default:
      return false;
  }
}

}  // namespace

bool hasWidthOfAWeight(const Graph& graph, ValueId value, size_t axis) {
  const auto& made = graph.value(value);
  const auto block = made.producer == kNone ? made.paramOf : graph.node(made.producer).block;
  return std::ranges::any_of(made.uses, [&](const graph::Use& use) {
    if (use.node == kNone || graph.node(use.node).block != block) return false;
    return contractsWithWeight(graph, use, axis, made.shape->size());
  });
}

}  // namespace normlens::ops
