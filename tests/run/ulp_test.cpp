#include "core/run/compare/ulp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/run/tensors.h"

namespace normlens::run {
namespace {

using graph::DType;

constexpr double kInf = std::numeric_limits<double>::infinity();

graph::TensorView vec(const std::vector<double>& values, DType dtype) {
  return fromDoubles(dtype, {static_cast<int64_t>(values.size())}, values);
}

UlpHistogram distances(const std::vector<double>& a, const std::vector<double>& b, DType dtype) {
  return *ulpDistances(vec(a, dtype), vec(b, dtype), dtype);
}

class Ulp : public testing::TestWithParam<DType> {};

TEST_P(Ulp, CountsRepresentableNumbers) {
  const double unit = machineEpsilon(GetParam());
  const auto found = distances({1, 1, 1, 1, 1}, {1, 1 + unit, 1 + 2 * unit, 1 + 4 * unit, 1 - unit}, GetParam());
  EXPECT_EQ(found.counts[0], 1);
  EXPECT_EQ(found.counts[1], 1);
  EXPECT_EQ(found.counts[2], 2) << "below 1 the numbers lie twice as dense: 1 - unit is two away";
  EXPECT_EQ(found.counts[3], 1);
  EXPECT_EQ(found.most, 4U);
}

TEST_P(Ulp, ZerosAreOneNumberAndSignsMeetThere) {
  const double unit = machineEpsilon(GetParam());
  EXPECT_EQ(distances({0.0}, {-0.0}, GetParam()).counts[0], 1);
  EXPECT_GT(distances({unit}, {-unit}, GetParam()).most, 1000U);
  EXPECT_EQ(distances({unit}, {-unit}, GetParam()).most, distances({-unit}, {unit}, GetParam()).most);
}

INSTANTIATE_TEST_SUITE_P(Types, Ulp, testing::Values(DType::Float64, DType::Float32, DType::Float16, DType::BFloat16));

TEST(UlpCases, TheSmallestNumbersAreOneApart) {
  const double least = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(distances({least}, {-least}, DType::Float32).most, 2U);
}

TEST(UlpCases, WhatIsFartherIsInTheLastBucket) {
  EXPECT_EQ(distances({1}, {1e30}, DType::Float32).counts[kUlpBuckets - 1], 1);
  EXPECT_EQ(distances({-1e300}, {1e300}, DType::Float64).counts[kUlpBuckets - 1], 1);
}

TEST(UlpCases, WhatIsNotFinite) {
  const auto found = distances({kInf, kInf, std::nan("")}, {kInf, 1, std::nan("")}, DType::Float32);
  EXPECT_EQ(found.counts[0], 2);
  EXPECT_EQ(found.counts[kUlpBuckets - 1], 1);
  EXPECT_EQ(found.most, 0U);
}

TEST(UlpCases, OnlyOfFloatsOfOneShape) {
  EXPECT_FALSE(ulpDistances(vec({1}, DType::Float32), vec({1, 2}, DType::Float32), DType::Float32));
  EXPECT_FALSE(ulpDistances(vec({1}, DType::Int32), vec({1}, DType::Int32), coarserType(DType::Int32, DType::Int32)));
  EXPECT_EQ(coarserType(DType::Float16, DType::Float32), DType::Float16);
  EXPECT_EQ(coarserType(DType::Float64, DType::BFloat16), DType::BFloat16);
  EXPECT_EQ(coarserType(DType::Float32, DType::Int64), DType::Unknown);
}

}  // namespace
}  // namespace normlens::run
