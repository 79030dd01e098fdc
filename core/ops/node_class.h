// The class of a node in a picture: of the whole graph as of a norm's zero-mean graph. Thread: a pure function.
#pragma once

#include "core/base/words/graph.h"
#include "core/graph/graph.h"

namespace normlens::ops {

// a + b or a - b of two values that the model computes.
[[nodiscard]] bool isComputedSum(const graph::Graph& graph, const graph::Node& node);
// The same where both have the sum's own shape, x + f(x), or none is known yet.
[[nodiscard]] bool isResidualSum(const graph::Graph& graph, const graph::Node& node);

// A sum, or a difference, with a tensor of floating-point numbers of the file is a Bias, one with a single number or
// with integers a Scalar.
[[nodiscard]] NodeClass nodeClass(const graph::Graph& graph, const graph::Node& node);

}  // namespace normlens::ops
