// The op kinds of the reference interpreter, by file; see graph_interpreter.h for the conventions.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "tests/support/dense_tensor.h"

namespace normlens::testing {

struct Call {
  const graph::Graph& graph;
  const graph::Node& node;
  const std::vector<Tensor>& operands;

  [[nodiscard]] bool has(size_t i) const { return i < node.operands.size() && node.operands[i] != graph::kNoValue; }
  [[nodiscard]] const Tensor& operand(size_t i) const { return operands.at(i); }
  [[nodiscard]] const graph::Shape& outShape(size_t i = 0) const { return *graph.value(node.outputs.at(i)).shape; }
  [[nodiscard]] size_t axis() const { return static_cast<size_t>(graph::intAttribute(node, "axis").value()); }
  [[nodiscard]] std::vector<int64_t> axes() const { return graph::intsAttribute(node, "axes").value(); }
};

// reference_shape_ops.cpp
[[nodiscard]] std::vector<Tensor> shapeOp(const Call& call);
// reference_linear_ops.cpp
[[nodiscard]] std::vector<Tensor> linearOp(const Call& call);
// reference_norm_ops.cpp
[[nodiscard]] std::vector<Tensor> normOp(const Call& call);
// reference_pointwise_ops.cpp
[[nodiscard]] std::vector<Tensor> pointwiseOp(const Call& call);

}  // namespace normlens::testing
