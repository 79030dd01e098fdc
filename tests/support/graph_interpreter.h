// A float64 reference interpreter over graph::Graph, for every op kind: slow and obvious, shares no code with the
// rules.
//
// Conventions where the graph does not say everything:
//  - Elementwise: the function that `op` names (relu, exp, sqrt, rsqrt, pow, square, tanh, sigmoid, reciprocal,
//  greater);
//    any other is a fixed smooth function of all operands, never zero-mean.
//  - Opaque: op "test::center" subtracts the mean over the groups of its attribute `pattern`; any other is a fixed
//    nonlinear function that mixes all elements. Recurrent: likewise.
//  - MatMul, Linear ...: alpha and beta of AddMatMul and alpha of Add are attributes (1 when absent).
//  - Slice and Select without `start` or `index`: the position is operand 1, a scalar.
//  - Conv: stride 1, padding "same" (kernel / 2 on both sides); transposed: the transpose of that.
//  - RmsNorm: [x, gamma?, beta?] over `axes`.
//  - Mix: a fixed dense random matrix for each of its axes.
//  - Pad without `value`: the nearest element is repeated.
//  - Cast to float32 or float16 rounds, any other is the identity.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "tests/support/dense_tensor.h"

namespace normlens::testing {

// The model's outputs. Throws std::logic_error on graphs that make no sense.
[[nodiscard]] std::vector<Tensor> interpret(const graph::Graph& graph, const std::vector<Tensor>& inputs);

// One node other than If and Loop; an absent operand is an empty Tensor (shape {}, no elements).
[[nodiscard]] std::vector<Tensor> evaluateNode(const graph::Graph& graph, const graph::Node& node,
                                               const std::vector<Tensor>& operands);

}  // namespace normlens::testing
