// Single vectors x of R^d, seen from the uniform vector 1 = [1 ... 1]. Paper 002, section 2; 1^ = 1 / sqrt(d).
//
//   mean vector    mu = mean(x) 1 = (x . 1^) 1^                         equations 2 and 7
//   its length     |mu| = |x| cos(theta), theta the angle to 1          equation 6
//   the rest       x_perp = x - mu, which is orthogonal to 1            equation 8
// All in float64; scaled first, so that no square over- or underflows. Thread: pure functions.
#pragma once

#include <span>
#include <vector>

namespace normlens::geometry {

using Vector = std::vector<double>;

[[nodiscard]] double meanOf(std::span<const double> x);  // 0 where there is no element
[[nodiscard]] double lengthOf(std::span<const double> x);
[[nodiscard]] double distance(std::span<const double> a, std::span<const double> b);  // Both have the same width.

struct VectorGeometry {
  double angleDeg = 0;   // theta in [0, 180]: 0 along 1, 90 orthogonal, 180 against it
  double length = 0;     // |x|
  double meanShare = 0;  // |mu|^2 / |x|^2 = cos^2(theta): the share of the energy along 1; of random vectors 1/d
};
// x is finite and has an element. A zero vector has no direction: angle and share are NaN, the length is 0.
[[nodiscard]] VectorGeometry geometryOf(std::span<const double> x);

// Between two vectors of one width, in degrees, [0, 180]; NaN where one is zero. Both finite.
[[nodiscard]] double angleBetween(std::span<const double> x, std::span<const double> y);

}  // namespace normlens::geometry
