#include "core/base/geometry/vector_geometry.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace normlens::geometry {
namespace {

constexpr double kDegrees = 180 / std::numbers::pi;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double largest(std::span<const double> x) {
  double most = 0;
  for (const double v : x) most = std::max(most, std::abs(v));
  return most;
}

// Divides by a number: the largest element is 1 then.
Vector scaled(std::span<const double> x, double by) {
  Vector out(x.begin(), x.end());
  for (double& v : out) v /= by;
  return out;
}

}  // namespace

double meanOf(std::span<const double> x) {
  return x.empty() ? 0 : std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

double lengthOf(std::span<const double> x) {
  const double scale = largest(x);
  if (scale == 0) return 0;
  double squares = 0;
  for (const double v : x) squares += (v / scale) * (v / scale);
  return scale * std::sqrt(squares);
}

double distance(std::span<const double> a, std::span<const double> b) {
  Vector apart(a.begin(), a.end());
  for (size_t i = 0; i < apart.size(); ++i) apart[i] -= b[i];
  return lengthOf(apart);
}

VectorGeometry geometryOf(std::span<const double> x) {
  const double scale = largest(x);
  if (scale == 0) return {kNan, 0, kNan};
  const Vector unit = scaled(x, scale);
  const auto d = static_cast<double>(unit.size());
  double mean = 0, rest = 0, across = 0;
  for (const double v : unit) mean += v;
  mean /= d;
  // The mean is taken again: the rounding of a mean far from zero is itself a mean.
  for (const double v : unit) rest += v - mean;
  mean += rest / d;
  for (const double v : unit) across += (v - mean) * (v - mean);
  across = std::sqrt(across);
  const double along = mean * std::sqrt(d), length = std::hypot(along, across);
  return {std::atan2(across, along) * kDegrees, scale * length, (along / length) * (along / length)};
}

// 2 atan(|u - v| / |u + v|) of the unit vectors: exact to rounding at every angle, which acos is not near 0 and 180.
double angleBetween(std::span<const double> x, std::span<const double> y) {
  const double lengthOfX = lengthOf(x), lengthOfY = lengthOf(y);
  if (lengthOfX == 0 || lengthOfY == 0) return kNan;
  const Vector u = scaled(x, lengthOfX), v = scaled(y, lengthOfY);
  return 2 * std::atan2(distance(u, v), distance(u, scaled(v, -1))) * kDegrees;
}

}  // namespace normlens::geometry
