// Known answers of a vector's geometry: paper 002's identities, random vectors, and what has no direction.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>
#include <random>

#include "core/base/geometry/norm_formulas.h"
#include "core/base/geometry/vector_geometry.h"

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

// Equations 10 and 11: with alpha = sqrt(Var) and beta = E, batch normalization is the identity.
TEST(VectorGeometry, BatchNormGivesItsInputsBack) {
  std::vector<Vector> batch;
  for (const double mean : {-1.0, 0.2, 3.0}) batch.push_back(rowOf(24, mean));
  for (size_t i = 0; i < 24; ++i) batch.back()[i] *= static_cast<double>(i + 1);
  const BatchStatistics statistics = statisticsOf(batch);
  Vector sum(24, 0), squares(24, 0);
  for (const Vector& x : batch) {
    const Vector y = standardized(x, statistics), back = scaledAndShifted(y, statistics.deviation, statistics.mean);
    for (size_t i = 0; i < 24; ++i) {
      EXPECT_NEAR(back[i], x[i], 1e-12);
      sum[i] += y[i];
      squares[i] += y[i] * y[i];
    }
  }
  for (size_t i = 0; i < 24; ++i) {
    EXPECT_NEAR(sum[i], 0, 1e-12);
    EXPECT_NEAR(squares[i], 3, 1e-12);
  }
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

// LayerNorm and RMSNorm as the lessons draw them, against the formulas that models compute.

Vector drawn(size_t width, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0.7, 2);
  Vector x(width);
  for (double& each : x) each = normal(random);
  return x;
}

TEST(NormFormulas, ProjectionAndScalingAreTheFormulas) {
  for (const size_t width : {2U, 3U, 17U, 768U}) {
    const Vector x = drawn(width, 7), layerNorm = layerNormOf(x), rmsNorm = rmsNormOf(x);
    double mean = 0, square = 0, variance = 0;
    for (const double each : x) mean += each / static_cast<double>(width);
    for (const double each : x) square += each * each / static_cast<double>(width);
    for (const double each : x) variance += (each - mean) * (each - mean) / static_cast<double>(width);
    for (size_t i = 0; i < width; ++i) {
      EXPECT_NEAR(layerNorm[i], (x[i] - mean) / std::sqrt(variance), 1e-12);
      EXPECT_NEAR(rmsNorm[i], x[i] / std::sqrt(square), 1e-12);
    }
  }
}

TEST(NormFormulas, TheyAgreeExactlyWhereTheMeanIsZero) {
  for (const size_t width : {3U, 64U}) {
    const Vector x = drawn(width, 3), centered = withoutMean(x);
    EXPECT_NEAR(distance(layerNormOf(centered), rmsNormOf(centered)), 0, 1e-12);
    EXPECT_GT(distance(layerNormOf(x), rmsNormOf(x)), 0.1);
  }
}

TEST(NormFormulas, OutputsAreRootDLongAndLayerNormsStandAtARightAngle) {
  for (const size_t width : {3U, 100U}) {
    const double root = std::sqrt(static_cast<double>(width));
    EXPECT_NEAR(lengthOf(layerNormOf(drawn(width, 1))), root, 1e-11);
    EXPECT_NEAR(lengthOf(rmsNormOf(drawn(width, 1))), root, 1e-11);
    EXPECT_NEAR(geometryOf(layerNormOf(drawn(width, 2))).angleDeg, 90, 1e-10);
  }
}

TEST(NormFormulas, AVectorIsItsMeanPartAndTheRest) {
  const Vector x = drawn(33, 4), mean = meanPart(x), rest = withoutMean(x);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(mean[i] + rest[i], x[i], 1e-14);
  EXPECT_NEAR(meanOf(rest), 0, 1e-14);
}

TEST(NormFormulas, NothingStaysNothing) {
  EXPECT_EQ(rmsNormOf(Vector(3, 0)), Vector(3, 0));
  EXPECT_EQ(layerNormOf(Vector(3, 4.0)), Vector(3, 0));
  EXPECT_EQ(crmsNormOf(Vector(3, 0)), Vector(3, 0));
}

TEST(NormFormulas, AStreamOfMeanZeroNeedsOneNumberLess) {
  for (const size_t width : {2U, 3U, 17U, 768U}) {
    const Vector x = withoutMean(drawn(width, 9)), less = compressed(x);
    EXPECT_EQ(less.size(), width - 1);
    EXPECT_NEAR(distance(restored(less), x), 0, 1e-11);
    EXPECT_NEAR(distance(crmsNormOf(less), compressed(rmsNormOf(x))), 0, 1e-11);
  }
  const Vector withMean = drawn(8, 9);
  EXPECT_GT(distance(restored(compressed(withMean)), withMean), 0.1);
}

// Paper 003, in another basis: the coordinates that are left have a plain RMSNorm.
TEST(NormFormulas, AReflectionTakesTheMeanToTheLastNumber) {
  for (const size_t width : {2U, 3U, 17U, 768U}) {
    const auto d = static_cast<double>(width);
    const Vector any = drawn(width, 9), x = withoutMean(any);
    EXPECT_NEAR(distance(reflected(reflected(any)), any), 0, 1e-11);
    EXPECT_NEAR(reflected(any).back(), meanOf(any) * std::sqrt(d), 1e-11);
    EXPECT_NEAR(reflected(x).back(), 0, 1e-11);
    Vector normed = rmsNormOf(compressed(reflected(x)));
    normed.push_back(0);
    for (double& each : normed) each *= std::sqrt(d / (d - 1));
    EXPECT_NEAR(distance(reflected(normed), layerNormOf(any)), 0, 1e-11);
  }
}

}  // namespace
}  // namespace normlens::geometry
