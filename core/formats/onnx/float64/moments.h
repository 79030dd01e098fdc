// Mean and variance in two passes: the yardstick must not cancel. Private to formats/onnx.
#pragma once

#include <cstdint>
#include <functional>

#include "core/formats/onnx/float64/kernel.h"

namespace normlens::formats::onnx::float64 {

struct Moments {
  double mean = 0;
  double inverse = 1;  // 1 / sqrt(variance + epsilon)
};

// centred: about the mean; else the mean counts as 0.
[[nodiscard]] Moments momentsOf(const double* x, int64_t count, double epsilon, bool centred);

// Calls body(row) for all rows, many at a time on each thread.
void eachRow(Call& call, int64_t rows, const std::function<void(int64_t)>& body);

}  // namespace normlens::formats::onnx::float64
