// The size rules of Linear, MatMul, AddMatMul, Conv and Attention.
#include "core/ops/index_maps.h"
#include "core/ops/rule_sets.h"
#include "core/ops/size_question.h"

namespace normlens::ops {

using graph::Node;
using graph::Shape;
using graph::ValueId;

namespace {

AxisSize sizeOfProduct(SizeQuestion& sizes, ValueId a, ValueId b, const AxisSize& own) {
  const Shape *left = shapeOf(sizes.graph(), a), *right = shapeOf(sizes.graph(), b);
  const Shape& out = *shapeOf(sizes.graph(), own.value);
  if (left == nullptr || right == nullptr || left->size() < 2 || right->size() < 2) return own;
  const size_t fromLast = out.size() - own.axis;
  if (fromLast == 1) return sizes.of(b, right->size() - 1);
  const auto has = [&](const Shape& shape) {
    return shape.size() >= fromLast && shape[shape.size() - fromLast] == out[own.axis];
  };
  if (fromLast == 2 || has(*left)) return sizes.of(a, left->size() - fromLast);
  return has(*right) ? sizes.of(b, right->size() - fromLast) : own;
}

}  // namespace

AxisSize linearSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  const bool last = own.axis + 1 == shapeOf(sizes.graph(), own.value)->size();
  return last ? sizes.of(graph::operandAt(node, 1), 0) : sizes.of(node.operands[0], own.axis);
}

AxisSize matMulSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  return sizeOfProduct(sizes, node.operands[0], graph::operandAt(node, 1), own);
}

AxisSize addMatMulSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  return sizeOfProduct(sizes, graph::operandAt(node, 1), graph::operandAt(node, 2), own);
}

AxisSize convSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  const ValueId x = node.operands[0], weight = graph::operandAt(node, 1);
  const Shape *in = shapeOf(sizes.graph(), x), *kernel = shapeOf(sizes.graph(), weight);
  if (kernel == nullptr || in->size() != kernel->size() || own.axis >= in->size()) return own;
  if (own.axis == 1) {
    return graph::boolAttribute(node, "transposed") ? sizes.fixedAs(weight, 1, own) : sizes.of(weight, 0);
  }
  return own.axis == 0 ? sizes.of(x, 0) : sizes.fixedAs(x, own.axis, own);
}

AxisSize attentionSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  const ValueId q = node.operands[0];
  const size_t rank = shapeOf(sizes.graph(), own.value)->size();
  if (sizes.graph().value(own.value).output != 0 || shapeOf(sizes.graph(), q)->size() != rank) return own;
  if (own.axis + 1 < rank) return sizes.of(q, own.axis);
  if (const auto projection = graph::intAttribute(node, "projection"))
    return sizes.of(graph::operandAt(node, static_cast<size_t>(*projection)), 0);
  return sizes.of(graph::operandAt(node, 2), own.axis);
}

}  // namespace normlens::ops
