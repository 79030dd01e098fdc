#include "core/run/compare/tensor_tile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "core/run/tensors.h"

namespace normlens::run {
namespace {

using graph::DType;

graph::TensorView counting(graph::Shape shape, double from = 0) {
  std::vector<double> values(static_cast<size_t>(*graph::elementCount(shape)));
  std::iota(values.begin(), values.end(), from);
  return fromDoubles(DType::Float64, std::move(shape), values);
}

TEST(TensorTile, TheLastAxisLiesAcross) {
  const Tile whole = wholeTile({2, 3, 5});
  EXPECT_EQ(whole.rows, 6);
  EXPECT_EQ(whole.columns, 5);
  EXPECT_EQ(wholeTile({}).rows, 1);
  EXPECT_EQ(wholeTile({4, 0}).rows, 0);
  const Tile inside = clipped({4, 100, -3, 100}, {2, 3, 5});
  EXPECT_EQ(inside.row, 4);
  EXPECT_EQ(inside.rows, 2);
  EXPECT_EQ(inside.column, 0);
  EXPECT_EQ(inside.columns, 5);
}

TEST(TensorTile, ASmallOneShowsItsElements) {
  const auto a = counting({4, 5}), b = counting({4, 5}, 1);
  const auto picture = pictureOf(a, b, {1, 2, 3, 2}, 10, 10);
  ASSERT_TRUE(picture);
  EXPECT_EQ(picture->a, (std::vector<double>{8, 9, 13, 14}));
  EXPECT_EQ(picture->difference, (std::vector<double>{1, 1, 1, 1}));
  EXPECT_EQ(picture->low, 8);
  EXPECT_EQ(picture->high, 15);
  EXPECT_EQ(picture->most, 1);
}

TEST(TensorTile, CellsShowMeansAndTheLargestDifference) {
  auto values = std::vector<double>(100, 1.0);
  const auto a = fromDoubles(DType::Float64, {10, 10}, values);
  values[55] = 3;
  const auto b = fromDoubles(DType::Float64, {10, 10}, values);
  const auto picture = pictureOf(a, b, wholeTile({10, 10}), 2, 2);
  EXPECT_EQ(picture->rows, 2);
  EXPECT_EQ(picture->difference, (std::vector<double>{0, 0, 0, 2}));
  EXPECT_DOUBLE_EQ(picture->b[3], 1 + 2.0 / 25);
}

TEST(TensorTile, WhatIsNotFiniteOnOneSideIsInfinitelyFar) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto a = fromDoubles(DType::Float64, {3}, std::vector<double>{inf, inf, 1});
  const auto b = fromDoubles(DType::Float64, {3}, std::vector<double>{inf, 2, 1});
  const auto picture = pictureOf(a, b, wholeTile({3}), 8, 8);
  EXPECT_EQ(picture->difference, (std::vector<double>{0, inf, 0}));
  EXPECT_EQ(picture->most, 0);
  EXPECT_EQ(picture->a[0], 0) << "a cell without finite elements";
}

}  // namespace
}  // namespace normlens::run
