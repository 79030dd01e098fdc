// Single vectors x of R^d, seen from the uniform vector 1 = [1 ... 1]. Paper 002, section 2; 1^ = 1 / sqrt(d).
//
//   mean vector    mu = mean(x) 1 = (x . 1^) 1^                         equations 2 and 7
//   its length     |mu| = |x| cos(theta), theta the angle to 1          equation 6
//   the rest       x_perp = x - mu, which is orthogonal to 1            equation 8
//   LayerNorm      y = sqrt(d) x_perp / |x_perp|    (eps 0)             equation 9
//   RMSNorm        y = sqrt(d) x / |x|              (eps 0)             Zhang and Sennrich 2019, equation 4
// So theta = 90 degrees is where the two agree. All in float64; scaled first, so that no square over- or underflows.
// Thread: pure functions.
#pragma once

#include <span>

namespace normlens::run {

struct VectorGeometry {
  double angleDeg = 0;   // theta in [0, 180]: 0 along 1, 90 orthogonal, 180 against it
  double length = 0;     // |x|
  double meanShare = 0;  // |mu|^2 / |x|^2 = cos^2(theta): the share of the energy along 1; of random vectors 1/d
};
// x is finite and has an element. A zero vector has no direction: angle and share are NaN, the length is 0.
[[nodiscard]] VectorGeometry geometryOf(std::span<const double> x);

// Between two vectors of one width, in degrees, [0, 180]; NaN where one is zero. Both finite.
[[nodiscard]] double angleBetween(std::span<const double> x, std::span<const double> y);

// What is computed behind the division by the root; empty: 1 and 0.
struct NormConstants {
  std::span<const double> gamma, beta;  // as many elements as x, or none
  double eps = 0;
};
// |RMSNorm(x) - LayerNorm(x)| / |LayerNorm(x)|, with the same gamma, beta and eps: by how much the output of this norm
// changes where its mean is not subtracted any more. 0 where nothing changes; infinite where a zero output does.
// With gamma 1, beta 0 and eps 0 it is 2 |cos((90 + theta) / 2)|, the chord between two vectors of length sqrt(d).
[[nodiscard]] double swapError(std::span<const double> x, const NormConstants& constants);

}  // namespace normlens::run
