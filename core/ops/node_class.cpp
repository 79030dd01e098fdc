#include "core/ops/node_class.h"

#include <algorithm>

#include "core/ops/rules.h"

namespace normlens::ops {

using namespace graph;

namespace {

// "x W + b" where the file has the addition as a node of its own; an epsilon is a single number.
bool addsBias(const Graph& graph, const Node& node) {
  return std::ranges::any_of(node.operands, [&](ValueId id) {
    const auto constant = id == kNoValue ? kNone : graph.value(id).constant;
    if (constant == kNone) return false;
    const auto& view = graph.constant(constant).view;
    return graph::isFloat(view.dtype) && graph::elementCount(view.shape) > 1;
  });
}

}  // namespace

bool isComputedSum(const Graph& graph, const Node& node) {
  if (opRow(node.kind).vertexClass != NodeClass::Residual || node.operands.size() != 2) return false;
  return std::ranges::none_of(node.operands, [&](ValueId id) {
    return id == kNoValue || graph.value(id).constant != kNone || graph.value(id).literal;
  });
}

bool isResidualSum(const Graph& graph, const Node& node) {
  if (!isComputedSum(graph, node)) return false;
  const auto& sum = graph.value(node.outputs.at(0)).shape;
  if (!sum) return node.kind == OpKind::Add;  // a difference of positions is none
  return std::ranges::all_of(node.operands, [&](ValueId id) { return graph.value(id).shape == sum; });
}

NodeClass nodeClass(const Graph& graph, const Node& node) {
  if (node.kind == graph::OpKind::RmsNorm) return NodeClass::RmsNorm;
  if (node.kind == graph::OpKind::Reduce && !isLinearReduce(node)) return NodeClass::Opaque;
  const NodeClass is = opRow(node.kind).vertexClass;
  if (is != NodeClass::Residual || isResidualSum(graph, node)) return is;
  return addsBias(graph, node) ? NodeClass::Bias : NodeClass::Scalar;
}

}  // namespace normlens::ops
