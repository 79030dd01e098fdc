#include "core/run/compare/compare_models.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/run/tensors.h"

namespace normlens::run {
namespace {

using graph::DType;

graph::TensorView rows(int64_t width, const std::vector<double>& values) {
  return fromDoubles(DType::Float32, {static_cast<int64_t>(values.size()) / width, width}, values);
}

TEST(TopK, CountsRowsWithTheSameLargest) {
  const auto found = topAgreement(rows(3, {1, 2, 3, 9, 5, 6}), rows(3, {1, 2, 4, 5, 9, 6}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rows, 2);
  EXPECT_EQ(found->sameFirst, 1);
  EXPECT_DOUBLE_EQ(found->first(), 0.5);
  EXPECT_FALSE(found->hasMany) << "rows of three have no top 5";
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

}  // namespace
}  // namespace normlens::run
