// Tensors made of numbers. Thread: pure functions.
#pragma once

#include <vector>

#include "core/graph/types.h"

namespace normlens::graph {

// Dense; each number is rounded to `dtype`.
[[nodiscard]] TensorView tensorFromDoubles(const Shape& shape, const std::vector<double>& numbers,
                                           DType dtype = DType::Float32);

}  // namespace normlens::graph
