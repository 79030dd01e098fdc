#include "core/analysis/claims/shift_tolerance.h"

#include <gtest/gtest.h>

namespace normlens::analysis {
namespace {

using ops::Pattern;

TEST(DemandIndex, numbersPairsInTheOrderInWhichTheyComeUp) {
  const Pattern rows = Pattern::fromFactors({{10, 0, 10, false}, {8, 0, 8, true}});
  const Pattern all = Pattern::fromFactors({{80, 0, 80, true}});
  DemandIndex index;
  EXPECT_EQ(index.number({2, rows}), 0);
  EXPECT_EQ(index.number({0, rows}), 1);
  EXPECT_EQ(index.number({2, all}), 2);
  EXPECT_EQ(index.number({2, rows}), 0);
  EXPECT_EQ(index.size(), 3U);
  EXPECT_EQ(index.value(2), 2);
  EXPECT_EQ(index.pattern(2), all);
}

}  // namespace
}  // namespace normlens::analysis
