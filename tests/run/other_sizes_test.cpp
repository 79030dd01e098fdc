#include "core/run/other_sizes.h"

#include <gtest/gtest.h>

namespace normlens::run {
namespace {

using graph::Shape;
using Shapes = std::vector<Shape>;

TEST(OtherSizes, ChangesFreeAxesTogetherFirst) {
  const auto sets = otherSizes({{2, 7}, {2, 7, 7, 4}, {}}, {{0, 1}, {0, 1, 2}, {}});
  ASSERT_EQ(sets.size(), 2U);
  EXPECT_EQ(sets[0],
            (SizeTrials{{{4, 14}, {4, 14, 14, 4}, {}}, {{4, 7}, {4, 7, 7, 4}, {}}, {{3, 8}, {3, 8, 8, 4}, {}}}));
  EXPECT_EQ(sets[1],
            (SizeTrials{{{2, 14}, {2, 14, 14, 4}, {}}, {{2, 3}, {2, 3, 3, 4}, {}}, {{2, 6}, {2, 6, 6, 4}, {}}}));
}

TEST(OtherSizes, GuessesTheBatchWhereNothingIsKnownAndTriesTheOthersByTheirSize) {
  const auto sets = otherSizes({{2, 7}, {5}, {2, 3, 8, 8}}, {});
  ASSERT_EQ(sets.size(), 4U);
  EXPECT_EQ(sets[0][0], (Shapes{{4, 7}, {5}, {4, 3, 8, 8}}));
  EXPECT_EQ(sets[1][0], (Shapes{{2, 14}, {5}, {2, 3, 8, 8}}));
  EXPECT_EQ(sets[2][0], (Shapes{{2, 7}, {5}, {2, 6, 8, 8}}));
  EXPECT_EQ(sets[3][0], (Shapes{{2, 7}, {5}, {2, 3, 16, 16}}));
}

TEST(OtherSizes, LargeSidesGrowByHalf) {
  EXPECT_EQ(otherSizes({{1, 3, 224, 224}}, {}).back()[0], (Shapes{{1, 3, 336, 336}}));
}

TEST(OtherSizes, AreBounded) {
  EXPECT_EQ(otherSizes({{2, 3, 4, 5, 6, 7, 8, 9}}, {}).size(), 5U);
  EXPECT_TRUE(otherSizes({{}}, {}).empty());
  EXPECT_TRUE(otherSizes({}, {}).empty());
}

}  // namespace
}  // namespace normlens::run
