#include "core/run/compare/diff.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/run/tensors.h"
#include "tests/support/fake_model.h"
#include "tests/support/worst_of.h"

namespace normlens::run {
namespace {

using graph::DType;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

graph::TensorView vec(const std::vector<double>& values, DType dtype = DType::Float64) {
  return fromDoubles(dtype, {static_cast<int64_t>(values.size())}, values);
}

TensorDiff compare(const std::vector<double>& a, const std::vector<double>& b) {
  return *compareTensors("x", vec(a), vec(b));
}

TEST(Diff, Measures) {
  const TensorDiff diff = compare({3, -4, 0}, {3, -4.5, 0.25});
  EXPECT_DOUBLE_EQ(diff.maxAbs, 0.5);
  EXPECT_DOUBLE_EQ(diff.maxRel, 0.125);
  EXPECT_DOUBLE_EQ(diff.meanAbs, 0.25);
  EXPECT_NEAR(diff.cosine, 27 / (5 * std::sqrt(9 + 20.25 + 0.0625)), 1e-12);
}

TEST(Diff, WhatIsEqualSetsNoScale) {
  const TensorDiff diff = compare({-3e38, 2, 4}, {-3e38, 2.5, 4});
  EXPECT_DOUBLE_EQ(diff.maxRel, 0.25);
  EXPECT_DOUBLE_EQ(diff.scale, 2);
  EXPECT_EQ(compare({-3e38}, {-3e38}).maxRel, 0);
}

TEST(Diff, EachRowHasItsOwnScale) {
  const graph::Shape shape{2, 2, 1};  // the last axis has nothing to compare with
  const auto a = fromDoubles(DType::Float64, shape, std::vector{1e6, 2e6, 1.0, 2.0});
  const auto b = fromDoubles(DType::Float64, shape, std::vector{1e6 + 1, 2e6, 1.0, 2.5});
  const auto diff = compareTensors("x", a, b);
  EXPECT_DOUBLE_EQ(diff->maxRel, 1e-6);
  EXPECT_DOUBLE_EQ(diff->rowRel, 0.25);
  auto rows = rowsApart(a, b, 1e-3);
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ(rows->front().elements, std::vector<size_t>{3});
  EXPECT_EQ(rows->front().apart, 0.5);
  EXPECT_EQ(rows->front().scale, 2);
  includeNoise(a, fromDoubles(DType::Float64, shape, std::vector{7e6, 2e6, 9.0, 2.125}), *rows);
  includeNoise(a, fromDoubles(DType::Float64, shape, std::vector{1e6, 2e6, 1.0, kInf}), *rows);
  includeNoise(a, vec({1, 2}), *rows);
  EXPECT_EQ(rows->front().noise, 0.125) << "of the elements that differ alone, and of what can be compared";
}

TEST(Diff, ARowThatIsRoundingAloneIsHeldAgainstTheOthers) {
  const graph::Shape shape{3, 2};
  const auto a = fromDoubles(DType::Float64, shape, std::vector{-3e38, 2.0, 0.0, 1e-14, -3e38, 4.0});
  const auto b = fromDoubles(DType::Float64, shape, std::vector{-3e38, 2.0, 2e-14, 0.0, -3e38, 4.0});
  const auto diff = compareTensors("x", a, b);
  EXPECT_LT(diff->rowRel, 1e-10);
  EXPECT_LT(diff->maxRel, 1e-10);
  EXPECT_TRUE(rowsApart(a, b, 1e-10)->empty());
}

TEST(Diff, ErrorsOfARowAreThoseOfWhatDiffers) {
  const graph::Shape shape{2, 3};
  const auto a = fromDoubles(DType::Float64, shape, std::vector{1e4, 2.0, 4.0, 1.0, 2.0, 3.0});
  const auto b = fromDoubles(DType::Float64, shape, std::vector{1e4, 2.5, 5.0, 1.0, 2.0, 3.0});
  const auto exact = fromDoubles(DType::Float64, shape, std::vector{0.0, 2.25, 5.0, 9.0, 9.0, 9.0});
  const auto rows = rowErrors(a, b, &exact);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 1U);  // the second row is equal
  EXPECT_DOUBLE_EQ(rows->front().apart, 1);
  EXPECT_DOUBLE_EQ(rows->front().scale, 4);
  EXPECT_DOUBLE_EQ(rows->front().a, 1);
  EXPECT_DOUBLE_EQ(rows->front().b, 0.25);
  EXPECT_EQ(rowErrors(a, b, nullptr)->front().b, 0);
  const auto other = vec({1, 2});
  EXPECT_FALSE(rowErrors(a, b, &other));
}

TEST(Diff, AnOwnErrorIsThatOfTheRow) {
  const graph::Shape shape{1, 3};
  const auto a = fromDoubles(DType::Float64, shape, std::vector{1e4, 5.0, 4.0});
  const auto b = fromDoubles(DType::Float64, shape, std::vector{1e4, 5.0, 4.5});
  const auto exact = fromDoubles(DType::Float64, shape, std::vector{0.0, 3.0, 4.0});
  const auto rows = rowErrors(a, b, &exact);
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_DOUBLE_EQ(rows->front().a, 2);
  EXPECT_DOUBLE_EQ(rows->front().b, 0.5);
}

TEST(Diff, EqualTensors) {
  const TensorDiff diff = compare({1, 2}, {1, 2});
  EXPECT_EQ(diff.maxAbs, 0);
  EXPECT_EQ(diff.maxRel, 0);
  EXPECT_NEAR(diff.cosine, 1, 1e-15);
}

TEST(Diff, ZeroAndEmpty) {
  EXPECT_EQ(compare({0, 0}, {0, 0}).maxRel, 0);
  EXPECT_EQ(compare({0, 0}, {0, 0}).cosine, 1);
  EXPECT_EQ(compare({0, 0}, {0, 1}).maxRel, kInf);
  EXPECT_EQ(compare({0, 0}, {0, 1}).cosine, 0);
  EXPECT_EQ(compare({}, {}).maxRel, 0);
}

TEST(Diff, SpecialValuesOnBothSidesAreEqual) {
  const TensorDiff diff = compare({kNan, kInf, -kInf, 2}, {kNan, kInf, -kInf, 2.5});
  EXPECT_DOUBLE_EQ(diff.maxAbs, 0.5);
  EXPECT_DOUBLE_EQ(diff.maxRel, 0.25);
  EXPECT_EQ(compare({kNan}, {kNan}).maxRel, 0);
}

TEST(Diff, SpecialValuesOnOneSideAreBeyondMeasure) {
  for (const auto& [a, b] : {std::pair{kNan, 1.0}, {1.0, kNan}, {kInf, 1.0}, {kInf, -kInf}, {kInf, kNan}}) {
    const TensorDiff diff = compare({a, 1}, {b, 1});
    EXPECT_EQ(diff.maxAbs, kInf) << a << " " << b;
    EXPECT_EQ(diff.maxRel, kInf);
  }
}

TEST(Diff, TypesMayDifferShapesMayNot) {
  EXPECT_EQ(compareTensors("x", vec({1, 2}), vec({1, 2}, DType::Float32))->maxAbs, 0);
  const auto shapes = compareTensors("x", vec({1, 2}), vec({1, 2, 3}));
  ASSERT_FALSE(shapes);
  EXPECT_EQ(shapes.error().message, "'x' is float64[2] in one model and float64[3] in the other");
}

TEST(Diff, ComplexTensorsByTheirParts) {
  graph::TensorView a = vec({1, 2, 3, 4}), b = vec({1, 2, 3, 6});
  for (graph::TensorView* view : {&a, &b}) {
    view->dtype = DType::Complex128;
    view->shape = {2};
  }
  EXPECT_DOUBLE_EQ(compareTensors("x", a, b)->maxAbs, 2);
}

TEST(Diff, TellsWhereTheyAreFarthestApart) {
  const TensorDiff diff = compare({1, 2, 3}, {1, 2.5, 2.75});
  EXPECT_EQ(diff.worst, 1);
  EXPECT_EQ(diff.worstA, 2);
  EXPECT_EQ(diff.worstB, 2.5);
  EXPECT_EQ(compare({1, 2}, {1, 2}).worst, -1);
  EXPECT_EQ(compare({1, kNan, 3}, {9, 2, 3}).worst, 1) << "what is not finite counts most";
}

TEST(Diff, OutputsAreComparedInOrder) {
  const formats::Tensors a = {{"out_0", vec({1})}, {"out_1", vec({2})}};
  const formats::Tensors b = {{"out_0", vec({1})}, {"out_1", vec({3})}};
  const auto diffs = compareOutputs(a, b);
  ASSERT_TRUE(diffs);
  EXPECT_EQ((*diffs)[1].name, "out_1");
  EXPECT_EQ(worstOf(*diffs).maxRel, 0.5);
  EXPECT_FALSE(compareOutputs(a, {{"out_0", vec({1})}}));
}

}  // namespace
}  // namespace normlens::run
