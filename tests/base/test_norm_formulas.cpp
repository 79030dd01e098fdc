// LayerNorm and RMSNorm as the lessons draw them, against the formulas that models compute.
#include "core/base/geometry/norm_formulas.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace normlens::geometry {
namespace {

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

}  // namespace
}  // namespace normlens::geometry
