// Constant scales and shifts around a linear layer that move into its weight and bias.
//
// As in center.h: strided views in, `out` laid out with outputStrides() of the tensor that it replaces, arithmetic in
// float64 and each result rounded once, `threads` workers at most. Errors: Unsupported for element types that are not
// real floating ones, Refused where a finite bias would become infinite, Internal where the sizes do not fit together.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/graph/types.h"

namespace normlens::fold {

// y = x * factor[i] + addend[i], i the index along axis `dim`. An empty addend adds nothing.
[[nodiscard]] Status scaleTensor(const graph::TensorView& in, std::span<const double> factor,
                                 std::span<const double> addend, int dim, std::span<std::byte> out, int threads);

// out = bias + W shift for a weight of two axes, `inputDim` the one that is summed. DESIGN section 3.
struct ShiftJob {
  graph::TensorView weight;
  int inputDim = 0;
  graph::TensorView shift;
  graph::TensorView bias;
  std::span<std::byte> out;
};
// Independent biases in one parallel sweep.
[[nodiscard]] Status absorbShifts(std::span<const ShiftJob> jobs, int threads);

}  // namespace normlens::fold
