// Whether two tensors hold the same numbers, in whatever types and orders in memory. Thread: pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "core/graph/types.h"

namespace normlens::formats::safetensors {

// `held` (dense, row-major) as a tensor of the shape of `wanted`: as it is, axes of size 1 aside, or with its two axes
// exchanged, as ONNX's MatMul has a linear's weight and GPT-2's Conv1D has it. nullopt: the shapes do not fit.
[[nodiscard]] std::optional<graph::TensorView> arranged(const graph::TensorView& held, const graph::Shape& wanted,
                                                        bool exchanged);

// How many elements differ, as numbers (a NaN is equal to any other); counting ends beyond `most`. Both of one shape
// and of real floating types; nullopt otherwise.
[[nodiscard]] std::optional<int64_t> differing(const graph::TensorView& a, const graph::TensorView& b, int64_t most);
[[nodiscard]] bool sameNumbers(const graph::TensorView& a, const graph::TensorView& b);

// All elements are one number, or there is none.
[[nodiscard]] bool isUniform(const graph::TensorView& view);

}  // namespace normlens::formats::safetensors
