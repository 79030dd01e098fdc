// NormRows describes one call of a norm kernel, the same on every device. No framework.
//
// A norm goes over the last axis of `rows` rows, x being the row (or the rounded sum of row and residual), n its width:
//   Rms     y = x / sqrt(mean(x^2) + eps)                                   Zhang and Sennrich 2019, equation 4
//   Layer   y = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps)           Ba et al. 2016, eq. 4; aten::layer_norm
//   Center  y = x - mean(x)                                                 (I - 11^T/n) x of papers 000 and 001
// each followed by y * weight + bias where they are given.
//
// Sums are kept in float, in double for double input. Means are subtracted in two steps, (x - guess) - rest, so that
// a mean far larger than the spread costs no digits. NaN and infinity spread over their row as with torch's
// operations: where a row of Layer holds one, all of the row is NaN. (A row whose spread alone exceeds the largest
// number of the type of the sums is NaN as well.)
#pragma once

#include <cstdint>

namespace normlens::kernels {

enum class Scalar { Float32, Float64, Float16, BFloat16 };

enum class NormKind { Rms, Layer, Center };

// The type of weight and bias: that of the rows, or that of the sums (double for Float64, else float).
enum class ConstantType { OfRows, OfSums };

// Sizes and strides count elements. Rows of the outputs are contiguous, so output row r starts at r * width.
// Inputs and outputs must not overlap.
struct NormRows {
  NormKind kind = NormKind::Rms;
  const void* input = nullptr;     // rows x width
  int64_t inputStride = 0;         // from one row to the next; each row itself is contiguous
  const void* residual = nullptr;  // rows x width; null: nothing is added
  int64_t residualStride = 0;
  const void* weight = nullptr;  // width values; null: 1
  const void* bias = nullptr;    // as weight; null: 0
  ConstantType constants = ConstantType::OfSums;
  void* sum = nullptr;     // rows x width: input + residual, rounded to the scalar type; with a residual only
  void* output = nullptr;  // rows x width
  int64_t width = 0;       // at least 1
  double eps = 0.0;        // not read by Center
};

}  // namespace normlens::kernels
