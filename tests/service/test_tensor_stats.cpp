#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "core/service/describe/tensor_stats.h"
#include "tests/support/graph_text.h"
#include "tests/support/must.h"

namespace normlens::service {
namespace {

graph::Constant constantOf(graph::TensorView view) {
  graph::Constant constant;
  constant.name = "w";
  constant.view = std::move(view);
  return constant;
}

protocol::TensorStats statsOf(const graph::Constant& constant, const ops::Pattern* centered = nullptr) {
  return must(tensorStats(constant, centered, {}));
}

TEST(TensorStats, figuresAndGroupMeans) {
  const auto constant = constantOf(graph::tensorFromDoubles({2, 3}, {1, 2, 3, 5, 6, 7}));
  const int64_t rows = 0;
  const auto pattern = ops::Pattern::overAxes({2, 3}, {&rows, 1});
  const auto stats = statsOf(constant, &pattern);
  EXPECT_EQ(stats.before.min, 1);
  EXPECT_EQ(stats.before.max, 7);
  EXPECT_EQ(stats.before.mean, 4);
  EXPECT_NEAR(stats.before.deviation, std::sqrt(14.0 / 3.0), 1e-12);
  EXPECT_EQ(stats.column_means, (std::vector<double>{3, 4, 5}));
  EXPECT_EQ(stats.before.largest_column_mean, 5);
  ASSERT_TRUE(stats.after);
  EXPECT_EQ(stats.after->min, -2);
  EXPECT_EQ(stats.after->max, 2);
  EXPECT_EQ(stats.after->mean, 0);
  EXPECT_EQ(stats.after->largest_column_mean, 0);
  EXPECT_EQ(stats.low, -4);  // room for 1 less the largest mean, so that both histograms share an axis
  EXPECT_EQ(stats.high, 7);
  const auto plain = statsOf(constant);
  EXPECT_TRUE(plain.column_means.empty());
  EXPECT_FALSE(plain.after);
}

TEST(TensorStats, whatIsLeftAfterCenteringIsRoundedToTheType) {
  std::vector<float> numbers(15);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(static_cast<float>(i)) + 100.3F;
  graph::TensorView view;
  view.data = reinterpret_cast<const std::byte*>(numbers.data());
  view.dtype = graph::DType::Float32;
  view.shape = {3, 5};
  view.strides = {5, 1};
  const int64_t rows = 0;
  const auto pattern = ops::Pattern::overAxes({3, 5}, {&rows, 1});
  const auto stats = statsOf(constantOf(view), &pattern);
  EXPECT_GT(stats.before.largest_column_mean, 99);
  ASSERT_TRUE(stats.after);
  EXPECT_GT(stats.after->largest_column_mean, 0);
  EXPECT_LT(stats.after->largest_column_mean, 1e-6);
}

TEST(TensorStats, atMost256MeansEvenlyPicked) {
  std::vector<double> numbers;
  for (int i = 0; i < 1024; ++i) numbers.push_back(i / 2);  // NOLINT(bugprone-integer-division): each twice
  const auto constant = constantOf(graph::tensorFromDoubles({512, 2}, numbers));
  const int64_t last = 1;
  const auto pattern = ops::Pattern::overAxes({512, 2}, {&last, 1});
  const auto means = statsOf(constant, &pattern).column_means;
  ASSERT_EQ(means.size(), 256U);
  EXPECT_EQ(means.front(), 0);
  EXPECT_EQ(means.back(), 510);
}

TEST(TensorStats, theRegionOutsideAPatternStaysAsItIs) {
  const auto constant = constantOf(graph::tensorFromDoubles({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
  const auto pattern = must(ops::Pattern::parse("(4 of 1:3)(2 sum)"));
  const auto stats = statsOf(constant, &pattern);
  EXPECT_EQ(stats.column_means, (std::vector<double>{3.5, 5.5}));
  ASSERT_TRUE(stats.after);
  EXPECT_EQ(stats.after->max, 8);
  EXPECT_EQ(stats.after->min, -0.5);
}

TEST(TensorStats, histogramAndHeatMapCountEveryElementOnce) {
  // Larger than a part, so that parts meet; its rows rise, its columns do not.
  const int64_t rows = 300, columns = 400;
  std::vector<double> numbers;
  for (int64_t i = 0; i < rows * columns; ++i)
    numbers.push_back(static_cast<double>(i / columns));  // NOLINT(bugprone-integer-division): its row
  const auto stats = statsOf(constantOf(graph::tensorFromDoubles({rows, columns}, numbers)));
  const auto& bins = stats.before.histogram;
  ASSERT_EQ(bins.size(), 64U);
  EXPECT_EQ(std::accumulate(bins.begin(), bins.end(), int64_t{0}), rows * columns);
  EXPECT_EQ(stats.heat_rows, 32);
  EXPECT_EQ(stats.heat_columns, 96);
  const auto& heat = stats.before.heat;
  ASSERT_EQ(heat.size(), 32U * 96U);
  EXPECT_NEAR(heat.front(), 4.5, 0.51);  // the mean of rows 0 to 9
  EXPECT_EQ(heat[0], heat[95]);
  EXPECT_GT(heat[96], heat[0]);
}

TEST(TensorStats, numbersThatAreNotFiniteAreCountedApart) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const auto stats = statsOf(constantOf(graph::tensorFromDoubles({4}, {1, nan, 3, inf})));
  EXPECT_EQ(stats.not_finite, 2);
  EXPECT_EQ(stats.before.mean, 2);
  EXPECT_EQ(stats.before.max, 3);
  const auto none = statsOf(constantOf(graph::tensorFromDoubles({1}, {nan})));
  EXPECT_EQ(none.not_finite, 1);
  EXPECT_TRUE(none.before.histogram.empty());
}

TEST(TensorStats, stopsWhenAsked) {
  std::stop_source source;
  source.request_stop();
  const Task task{{}, source.get_token()};
  EXPECT_EQ(failureOf(tensorStats(constantOf(graph::tensorFromDoubles({2}, {1, 2})), nullptr, task)).code,
            ErrorCode::Cancelled);
}

}  // namespace
}  // namespace normlens::service
