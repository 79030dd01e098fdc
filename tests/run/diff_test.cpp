#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "core/run/compare/compare_models.h"
#include "core/run/compare/diff.h"
#include "core/run/compare/tensor_tile.h"
#include "core/run/compare/ulp.h"
#include "core/run/tensors.h"
#include "tests/support/fake_model.h"
#include "tests/support/must.h"
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
  EXPECT_NEAR(compare({1, 2}, {1, 2}).cosine, 1, 1e-15);
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
  const auto rows = must(rowErrors(a, b, &exact));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows.back().apart, 0);
  EXPECT_DOUBLE_EQ(rows.front().apart, 1);
  EXPECT_DOUBLE_EQ(rows.front().scale, 4);
  EXPECT_DOUBLE_EQ(rows.front().a, 1);
  EXPECT_DOUBLE_EQ(rows.front().b, 0.25);
  const auto without = must(rowErrors(a, b, nullptr));
  ASSERT_EQ(without.size(), 1U) << "of equal rows nothing is known";
  EXPECT_EQ(without.front().b, 0);
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
  EXPECT_EQ(failureOf(compareTensors("x", vec({1, 2}), vec({1, 2, 3}))).message,
            "'x' is float64[2] in one model and float64[3] in the other");
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
  const auto diffs = must(compareOutputs(a, b));
  EXPECT_EQ(diffs[1].name, "out_1");
  EXPECT_EQ(worstOf(diffs).maxRel, 0.5);
  EXPECT_FALSE(compareOutputs(a, {{"out_0", vec({1})}}));
}

graph::TensorView rows(int64_t width, const std::vector<double>& values) {
  return fromDoubles(DType::Float32, {static_cast<int64_t>(values.size()) / width, width}, values);
}

TEST(TopK, CountsRowsWithTheSameLargest) {
  const auto found = must(topAgreement(rows(3, {1, 2, 3, 9, 5, 6}), rows(3, {1, 2, 4, 5, 9, 6})));
  EXPECT_EQ(found.rows, 2);
  EXPECT_EQ(found.sameFirst, 1);
  EXPECT_DOUBLE_EQ(found.first(), 0.5);
  EXPECT_FALSE(found.hasMany) << "rows of three have no top 5";
}

TEST(TopK, OfEqualOnesTheFirstCounts) {
  EXPECT_EQ(topAgreement(rows(3, {5, 5, 1}), rows(3, {5, 4, 1}))->sameFirst, 1);
  EXPECT_EQ(topAgreement(rows(3, {5, 5, 1}), rows(3, {4, 5, 1}))->sameFirst, 0);
}

TEST(TopK, TheTopFiveAreASet) {
  const auto found = topAgreement(rows(7, {7, 6, 5, 4, 3, 2, 1}), rows(7, {6, 7, 5, 4, 1, 2, 3}));
  ASSERT_TRUE(found && found->hasMany);
  EXPECT_EQ(found->sharedMany, 4) << "place 4 fell out, place 6 came in";
  EXPECT_DOUBLE_EQ(found->many(), 0.8);
  TopAgreement sum = *found;
  sum.add(*found);
  EXPECT_DOUBLE_EQ(sum.many(), 0.8);
  EXPECT_EQ(sum.rows, 2);
}

TEST(TopK, NaNIsNeverTheLargest) {
  EXPECT_EQ(topAgreement(rows(3, {std::nan(""), 2, 1}), rows(3, {0, 2, 1}))->sameFirst, 1);
}

TEST(TopK, OnlyOfWhatMayBeLogits) {
  EXPECT_FALSE(topAgreement(rows(1, {1, 2}), rows(1, {1, 2})));
  EXPECT_FALSE(topAgreement(rows(2, {1, 2}), rows(2, {1, 2, 3, 4})));
  const auto scalar = fromDoubles(DType::Float32, {}, std::vector<double>{1});
  EXPECT_FALSE(topAgreement(scalar, scalar));
  const auto integers = fromDoubles(DType::Int64, {3}, std::vector<double>{1, 2, 3});
  EXPECT_FALSE(topAgreement(integers, integers));
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
  const auto picture = must(pictureOf(a, b, {1, 2, 3, 2}, 10, 10));
  EXPECT_EQ(picture.a, (std::vector<double>{8, 9, 13, 14}));
  EXPECT_EQ(picture.difference, (std::vector<double>{1, 1, 1, 1}));
  EXPECT_EQ(picture.low, 8);
  EXPECT_EQ(picture.high, 15);
  EXPECT_EQ(picture.most, 1);
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
  const auto picture = pictureOf(vec({kInf, kInf, 1}), vec({kInf, 2, 1}), wholeTile({3}), 8, 8);
  EXPECT_EQ(picture->difference, (std::vector<double>{0, kInf, 0}));
  EXPECT_EQ(picture->most, 0);
  EXPECT_EQ(picture->a[0], 0) << "a cell without finite elements";
}

}  // namespace
}  // namespace normlens::run
