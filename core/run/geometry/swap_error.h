// Computes the error in a norm's output if its mean were not subtracted. Thread: pure function.
#pragma once

#include <span>

namespace normlens::run {

// NormConstants apply behind the division by the root; empty: 1 and 0.
struct NormConstants {
  std::span<const double> gamma, beta;  // as many elements as x, or none
  double eps = 0;
};
// |RMSNorm(x) - LayerNorm(x)| / |LayerNorm(x)|, with the same gamma, beta and eps: by how much the output of this norm
// changes where its mean is not subtracted any more. 0 where nothing changes; infinite where a zero output does.
// With gamma 1, beta 0 and eps 0 it is 2 |cos((90 + theta) / 2)|, the chord between two vectors of length sqrt(d),
// theta the angle of x to the uniform vector (core/base/geometry).
[[nodiscard]] double swapError(std::span<const double> x, const NormConstants& constants);

}  // namespace normlens::run
