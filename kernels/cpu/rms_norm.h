// RMSNorm over rows, on the CPU: y = x / sqrt(mean(x^2) + eps) * weight + bias, and the same of x + residual.
//
// Torch-free. Sums are kept in float (in double for double input); each row is independent, so any split of the rows
// over threads gives the same bits. One code path per instruction set, chosen at run time.
// Thread: pure functions over the caller's memory.
#pragma once

#include <cstdint>
#include <span>

namespace normlens::kernels {

enum class Scalar { Float32, Float64, Float16, BFloat16 };

// Sizes and strides count elements. Rows of the outputs are contiguous, so output row r starts at r * width.
// Inputs and outputs must not overlap.
struct RmsNormRows {
  const void* input = nullptr;     // rows x width
  int64_t inputStride = 0;         // from one row to the next; each row itself is contiguous
  const void* residual = nullptr;  // null: nothing is added
  int64_t residualStride = 0;
  const void* weight = nullptr;  // width values in the type of the sums: double for Float64, else float; null: 1
  const void* bias = nullptr;    // as weight; null: 0
  void* sum = nullptr;           // rows x width: x + residual, rounded to the scalar type; with a residual only
  void* output = nullptr;        // rows x width
  int64_t width = 0;             // at least 1
  double eps = 0.0;
};

// Normalises rows [begin, end).
using RmsNormFunction = void (*)(Scalar scalar, const RmsNormRows& rows, int64_t begin, int64_t end);

struct RmsNormVariant {
  const char* name;     // "avx512", "avx2", "baseline"
  bool (*supported)();  // by the processor that runs this
  RmsNormFunction run;
};

// Every variant that was compiled in, fastest first; the last one runs everywhere.
std::span<const RmsNormVariant> rmsNormVariants();

// The fastest variant this processor supports.
const RmsNormVariant& bestRmsNormVariant();

}  // namespace normlens::kernels
