// The tensors by which a stream keeps its mean, fold::RestoreMean. Thread: pure functions.
#pragma once

#include "core/graph/types.h"

namespace normlens::formats {

// The mean over the outputs of a linear layer's weight, in float64 and then rounded to `dtype`: one number for each
// input, [1, inputs]. inputDim: the axis of the weight, of two, that the inputs are. Throws EditRefused where the
// weight is not of a real type.
[[nodiscard]] graph::TensorView meanOfOutputs(const graph::TensorView& weight, int inputDim, graph::DType dtype);

// The mean over the last axis, which stays with size 1. Throws alike.
[[nodiscard]] graph::TensorView meanOfRows(const graph::TensorView& held, graph::DType dtype);

}  // namespace normlens::formats
