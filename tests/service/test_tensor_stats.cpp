#include <gtest/gtest.h>

#include <cmath>

#include "core/graph/text.h"
#include "core/service/tensor_stats.h"

namespace normlens::service {
namespace {

TEST(TensorStats, figuresAndGroupMeans) {
  graph::Constant constant;
  constant.name = "w";
  constant.view = graph::tensorFromDoubles({2, 3}, {1, 2, 3, 5, 6, 7});
  const int64_t rows = 0;
  const auto pattern = ops::Pattern::overAxes({2, 3}, {&rows, 1});
  const auto stats = tensorStats(constant, &pattern);
  EXPECT_EQ(stats.min, 1);
  EXPECT_EQ(stats.max, 7);
  EXPECT_EQ(stats.mean, 4);
  EXPECT_NEAR(stats.deviation, std::sqrt(14.0 / 3.0), 1e-12);
  EXPECT_EQ(stats.column_means, (std::vector<double>{3, 4, 5}));
  EXPECT_TRUE(tensorStats(constant, nullptr).column_means.empty());
}

TEST(TensorStats, atMost256MeansEvenlyPicked) {
  graph::Constant constant;
  std::vector<double> numbers;
  for (int i = 0; i < 1024; ++i) numbers.push_back(i / 2);
  constant.view = graph::tensorFromDoubles({512, 2}, numbers);
  const int64_t last = 1;
  const auto pattern = ops::Pattern::overAxes({512, 2}, {&last, 1});
  const auto means = tensorStats(constant, &pattern).column_means;
  ASSERT_EQ(means.size(), 256U);
  EXPECT_EQ(means.front(), 0);
  EXPECT_EQ(means.back(), 510);
}

}  // namespace
}  // namespace normlens::service
