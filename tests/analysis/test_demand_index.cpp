#include "core/analysis/claims/demand_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace normlens::analysis {
namespace {

using ops::Pattern;

TEST(DemandIndex, numbersPairsInTheOrderInWhichTheyComeUp) {
  const Pattern rows = Pattern::fromFactors({{10, 0, 10, false}, {8, 0, 8, true}});
  const Pattern all = Pattern::fromFactors({{80, 0, 80, true}});
  DemandIndex index(3);
  EXPECT_EQ(index.number(2, rows), 0);
  EXPECT_EQ(index.number(0, rows), 1);
  EXPECT_EQ(index.number(2, all), 2);
  EXPECT_EQ(index.number({2, rows}), 0);
  EXPECT_EQ(index.number(2, all), 2);
  EXPECT_EQ(index.size(), 3U);
  EXPECT_EQ(index.value(2), 2);
  EXPECT_EQ(index.pattern(2), all);
}

TEST(DemandIndex, agreesWithAMapOnRandomPairs) {
  std::mt19937 random(5);
  constexpr int kValues = 40;
  DemandIndex index(kValues);
  std::map<std::pair<graph::ValueId, Pattern>, int> expected;
  for (int i = 0; i < 4000; ++i) {
    const auto value = static_cast<graph::ValueId>(random() % kValues);
    const auto size = static_cast<int64_t>(2 + random() % 6);
    const auto begin = static_cast<int64_t>(random() % 2);
    const Pattern pattern = Pattern::fromFactors({{size, begin, size, random() % 2 == 0}, {3, 0, 3, true}});
    const int number = expected.try_emplace({value, pattern}, static_cast<int>(expected.size())).first->second;
    ASSERT_EQ(index.number(value, pattern), number);
    EXPECT_EQ(index.value(number), value);
    EXPECT_EQ(index.pattern(number), pattern);
  }
  EXPECT_EQ(index.size(), expected.size());
}

}  // namespace
}  // namespace normlens::analysis
