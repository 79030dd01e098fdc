// Known answers of a vector's geometry: paper 002's identities, random vectors, and what has no direction.
#include "core/base/geometry/vector_geometry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>
#include <random>

#include "core/base/geometry/norm_formulas.h"

namespace normlens::geometry {
namespace {

constexpr double kRad = std::numbers::pi / 180;

Vector rowOf(size_t width, double mean) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal(mean, 1);
  Vector x(width);
  for (double& each : x) each = normal(random);
  return x;
}

TEST(VectorGeometry, KnownAngles) {
  EXPECT_EQ(geometryOf(Vector{1, -1, 2, -2}).angleDeg, 90) << "a centered vector: exactly";
  EXPECT_EQ(geometryOf(Vector{1, -1, 2, -2}).meanShare, 0);
  EXPECT_EQ(geometryOf(Vector{3, 3, 3}).angleDeg, 0);
  EXPECT_EQ(geometryOf(Vector{-3, -3, -3}).angleDeg, 180);
  EXPECT_EQ(geometryOf(Vector{3, 3, 3}).meanShare, 1);
  EXPECT_NEAR(geometryOf(Vector{1, 0}).angleDeg, 45, 1e-13);
  EXPECT_NEAR(geometryOf(Vector{3, 4}).length, 5, 1e-15);
  EXPECT_EQ(geometryOf(Vector{7}).angleDeg, 0);
}

// Equations 6 and 8: |mu| = |x| cos(theta), and what is left is orthogonal to 1.
TEST(VectorGeometry, TheMeanVectorIsTheProjection) {
  for (const double mean : {-2.0, -0.1, 0.3, 50.0}) {
    const Vector x = rowOf(97, mean);
    const double mu = std::accumulate(x.begin(), x.end(), 0.0) / 97;
    const VectorGeometry geometry = geometryOf(x);
    EXPECT_NEAR(lengthOf(x) * std::cos(geometry.angleDeg * kRad), mu * std::sqrt(97), 1e-11);
    EXPECT_NEAR(geometry.meanShare, std::pow(std::cos(geometry.angleDeg * kRad), 2), 1e-14);
    EXPECT_NEAR(geometryOf(withoutMean(x)).angleDeg, 90, 1e-12);
  }
}

// Equation 9, and that LayerNorm's output without gamma and beta is orthogonal to 1 and of length sqrt(d).
TEST(VectorGeometry, LayerNormIsTheNormalisedRest) {
  const Vector x = rowOf(64, 1.5), y = layerNormOf(x), rest = withoutMean(x);
  const double length = lengthOf(rest);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], 8 * rest[i] / length, 1e-14);
  EXPECT_NEAR(geometryOf(y).angleDeg, 90, 1e-13);
  EXPECT_NEAR(geometryOf(y).length, 8, 1e-13);
}

TEST(VectorGeometry, NoSquareOverflowsOrVanishes) {
  for (const double scale : {1e-300, 1e300}) {
    const VectorGeometry geometry = geometryOf(Vector{scale, 0});
    EXPECT_NEAR(geometry.angleDeg, 45, 1e-13);
    EXPECT_DOUBLE_EQ(geometry.length, scale);
    EXPECT_NEAR(angleBetween(Vector{scale, 0}, Vector{0, scale}), 90, 1e-13);
  }
}

TEST(VectorGeometry, AZeroVectorHasNoDirection) {
  const VectorGeometry geometry = geometryOf(Vector{0, 0, 0});
  EXPECT_TRUE(std::isnan(geometry.angleDeg));
  EXPECT_TRUE(std::isnan(geometry.meanShare));
  EXPECT_EQ(geometry.length, 0);
  EXPECT_TRUE(std::isnan(angleBetween(Vector{0, 0}, Vector{1, 0})));
}

TEST(AngleBetween, IsThatToTheUniformVectorToo) {
  const Vector ones(33, 1.0);
  for (const double mean : {-4.0, 0.0, 0.2}) {
    const Vector x = rowOf(33, mean);
    EXPECT_NEAR(angleBetween(x, ones), geometryOf(x).angleDeg, 1e-11);
  }
  EXPECT_EQ(angleBetween(ones, ones), 0);
}

}  // namespace
}  // namespace normlens::geometry
