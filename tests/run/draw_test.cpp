#include "core/run/inputs/draw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/run/tensors.h"

namespace normlens::run {
namespace {

using graph::DType;

formats::InputSpec spec(DType dtype, graph::Shape shape, double low, double high, bool uniform) {
  formats::InputSpec made;
  made.name = "x";
  made.dtype = dtype;
  made.shape = std::move(shape);
  made.low = low;
  made.high = high;
  made.uniform = uniform;
  return made;
}

std::vector<double> valuesOf(const Result<formats::Tensors>& tensors, size_t i = 0) {
  return *graph::toDoubles((*tensors)[i].view);
}

TEST(DrawInputs, KeepsToTheSpec) {
  const auto tensors = drawInputs({spec(DType::Int64, {50, 40}, 3, 5, true), spec(DType::Float32, {2000}, 0, 1, false),
                                   spec(DType::Float32, {2000}, -2, 2, true), spec(DType::Bool, {2000}, 0, 1, true)},
                                  7);
  ASSERT_TRUE(tensors);
  auto ids = valuesOf(tensors, 0);
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  EXPECT_EQ(ids, (std::vector<double>{3, 4, 5}));
  const auto normal = valuesOf(tensors, 1);
  double squares = 0;
  for (const double value : normal) squares += value * value / 2000;
  EXPECT_NEAR(squares, 1, 0.1);
  const auto [least, greatest] = std::ranges::minmax(valuesOf(tensors, 2));
  EXPECT_GE(least, -2);
  EXPECT_LE(greatest, 2);
  EXPECT_LT(least, -1.9);
  const auto bits = valuesOf(tensors, 3);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(bits, 1.0)), 1000, 150);
}

TEST(DrawInputs, ABoolKeepsToItsRangeToo) {
  const auto tensors = drawInputs({spec(DType::Bool, {64}, 1, 1, true), spec(DType::Bool, {64}, 0, 0, true)}, 7);
  ASSERT_TRUE(tensors);
  EXPECT_EQ(valuesOf(tensors, 0), std::vector<double>(64, 1));
  EXPECT_EQ(valuesOf(tensors, 1), std::vector<double>(64, 0));
}

TEST(DrawInputs, IsDeterministicBySeed) {
  const std::vector specs = {spec(DType::Float64, {8}, 0, 1, false)};
  EXPECT_EQ(valuesOf(drawInputs(specs, 3)), valuesOf(drawInputs(specs, 3)));
  EXPECT_NE(valuesOf(drawInputs(specs, 3)), valuesOf(drawInputs(specs, 4)));
}

TEST(DrawInputs, RefusesWhatItCannotDraw) {
  EXPECT_FALSE(drawInputs({spec(DType::Unknown, {2}, 0, 1, false)}, 1));
  EXPECT_FALSE(drawInputs({spec(DType::Float32, {-1}, 0, 1, false)}, 1));
  EXPECT_FALSE(drawInputs({spec(DType::Float32, {int64_t{1} << 40}, 0, 1, false)}, 1));
}

formats::Tensors one(DType dtype, std::vector<double> values) {
  const auto size = static_cast<int64_t>(values.size());
  return {{"x", fromDoubles(dtype, {size}, values)}};
}

TEST(DrawLike, IntegersKeepTheirRange) {
  const auto drawn = valuesOf(drawLike(one(DType::Int64, {7, 12, 9, 8}), {{1000}}, 1));
  const auto [least, greatest] = std::ranges::minmax(drawn);
  EXPECT_EQ(least, 7);
  EXPECT_EQ(greatest, 12);
}

TEST(DrawLike, MasksKeepTheirCounts) {
  for (const DType dtype : {DType::Bool, DType::Int64, DType::Float32}) {
    auto drawn = valuesOf(drawLike(one(dtype, {1, 1, 1, 0, 0, 0, 0, 0}), {{8}}, 5));
    EXPECT_EQ(std::ranges::count(drawn, 1.0), 3);
    EXPECT_EQ(std::ranges::count(drawn, 0.0), 5);
  }
  EXPECT_EQ(valuesOf(drawLike(one(DType::Int64, {1, 1, 1}), {{6}}, 5)), std::vector<double>(6, 1));
}

TEST(DrawLike, FloatsKeepMeanAndScale) {
  std::vector<double> sample;
  for (int i = 0; i < 100; ++i) sample.push_back(50 + i % 7);
  const auto drawn = valuesOf(drawLike(one(DType::Float32, sample), {{5000}}, 1));
  double mean = 0;
  for (const double value : drawn) mean += value / 5000;
  EXPECT_NEAR(mean, 53, 0.3);
  EXPECT_NE(drawn[0], drawn[1]);
}

TEST(DrawLike, ValuesThatAreNotFiniteStay) {
  const double minusInfinity = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(valuesOf(drawLike(one(DType::Float32, {0, minusInfinity, 3, 4}), {{4}}, 1)),
            (std::vector<double>{0, minusInfinity, 3, 4}));
}

TEST(DrawLike, EmptyTensorsStayEmpty) { EXPECT_TRUE(valuesOf(drawLike(one(DType::Float32, {}), {{0}}, 1)).empty()); }

}  // namespace
}  // namespace normlens::run
