// LayerNorm and RMSNorm as geometry, for a vector of any width d: the part along the uniform vector 1, the projection
// onto the plane of zero-mean vectors, and the length sqrt(d). Epsilon is left out: it is there so that a machine does
// not divide by zero. So theta = 90 degrees (vector_geometry.h) is where the two agree. Thread: pure functions.
#pragma once

#include <span>

#include "core/base/geometry/vector_geometry.h"

namespace normlens::geometry {

[[nodiscard]] Vector meanPart(std::span<const double> x);     // mu, paper 002, equation 7
[[nodiscard]] Vector withoutMean(std::span<const double> x);  // x_perp, equation 8
// sqrt(d) x / |x|: RMSNorm without gamma and beta (Zhang and Sennrich 2019, equation 4). Zero stays zero.
[[nodiscard]] Vector rmsNormOf(std::span<const double> x);
// sqrt(d) x_perp / |x_perp|: LayerNorm without gamma and beta (paper 002, equation 9). A vector along 1 becomes zero.
[[nodiscard]] Vector layerNormOf(std::span<const double> x);
// Returns gamma * x + beta, number by number, of the same width.
[[nodiscard]] Vector scaledAndShifted(std::span<const double> x, std::span<const double> gamma,
                                      std::span<const double> beta);

// BatchNorm's 2d statistics: of each number the mean and the standard deviation over the batch (paper 002, equation
// 10).
struct BatchStatistics {
  Vector mean, deviation;
};
// Takes at least one vector; all have one width.
[[nodiscard]] BatchStatistics statisticsOf(std::span<const Vector> batch);
// (x - mean) / deviation, number by number; no deviation may be 0. scaledAndShifted() by deviation and mean gives x
// back (equation 11).
[[nodiscard]] Vector standardized(std::span<const double> x, const BatchStatistics& statistics);

// Removes the last number of a vector with mean zero, which is minus the sum of the others; restored() appends it.
// Source of these three: paper 003 (Pre-CRMSNorm), section 3.
[[nodiscard]] Vector compressed(std::span<const double> x);
[[nodiscard]] Vector restored(std::span<const double> compressed);
// Returns the RMSNorm of the restored vector without its last number: x / sqrt((sum of squares + sum^2) / d), d one
// more than the width of x. Zero stays zero.
[[nodiscard]] Vector crmsNormOf(std::span<const double> compressed);
// The Householder reflection that takes the uniform vector to the last axis, its own inverse: the last number of a
// vector with mean zero becomes 0. Source: docs/method.md 9.
[[nodiscard]] Vector reflected(std::span<const double> x);

}  // namespace normlens::geometry
