#include "core/run/other_sizes.h"

#include <gtest/gtest.h>

namespace normlens::run {
namespace {

using graph::Shape;
using Shapes = std::vector<Shape>;

TEST(OtherSizes, ChangesFreeAxesTogetherFirst) {
  const auto sets = otherSizes({{2, 7}, {2, 7, 7, 4}, {}}, {{0, 1}, {0, 1, 2}, {}});
  ASSERT_EQ(sets.size(), 3U);
  EXPECT_EQ(sets[0],
            (SizeTrials{{{4, 14}, {4, 14, 14, 4}, {}}, {{4, 7}, {4, 7, 7, 4}, {}}, {{3, 8}, {3, 8, 8, 4}, {}}}));
  EXPECT_EQ(sets[1], (SizeTrials{{{2, 14}, {2, 14, 14, 4}, {}},
                                 {{2, 3}, {2, 3, 3, 4}, {}},
                                 {{2, 8}, {2, 8, 8, 4}, {}},
                                 {{2, 6}, {2, 6, 6, 4}, {}}}));
  EXPECT_EQ(sets[2][0], (Shapes{{2, 7}, {2, 7, 7, 8}, {}})) << "perhaps that is free as well";
}

TEST(OtherSizes, GuessesTheBatchWhereNothingIsKnownAndTriesTheOthersByTheirSize) {
  const auto sets = otherSizes({{2, 7}, {5}, {2, 3, 8, 8}}, {});
  ASSERT_EQ(sets.size(), 5U);
  EXPECT_EQ(sets[0][0], (Shapes{{4, 7}, {5}, {4, 3, 8, 8}}));
  EXPECT_EQ(sets[1][0], (Shapes{{2, 7}, {10}, {2, 3, 8, 8}}));
  EXPECT_EQ(sets[2][0], (Shapes{{2, 14}, {5}, {2, 3, 8, 8}}));
  EXPECT_EQ(sets[3][0], (Shapes{{2, 7}, {5}, {2, 6, 8, 8}}));
  EXPECT_EQ(sets[4][0], (Shapes{{2, 7}, {5}, {2, 3, 16, 16}}));
}

TEST(OtherSizes, OfLargeSidesTheSmallerFirst) {
  EXPECT_EQ(otherSizes({{1, 3, 224, 224}}, {}).back(),
            (SizeTrials{{{1, 3, 112, 112}}, {{1, 3, 336, 336}}, {{1, 3, 448, 448}}, {{1, 3, 223, 223}}}));
}

TEST(OtherSizes, WhatThereIsOneOfOrNoneGoesWithTheOthersOrHasOneMore) {
  const auto sets = otherSizes({{2, 1, 5}, {2, 4, 8}, {3, 0}}, {});
  EXPECT_EQ(sets[2], (SizeTrials{{{2, 4, 5}, {2, 4, 8}, {3, 0}}, {{2, 2, 5}, {2, 4, 8}, {3, 0}}}));
  EXPECT_EQ(sets[4].back(), (Shapes{{2, 1, 5}, {2, 4, 8}, {3, 1}}));
}

TEST(OtherSizes, AreBounded) {
  EXPECT_EQ(otherSizes({{2, 3, 4, 5, 6, 7, 8, 9}}, {}).size(), 6U);
  EXPECT_TRUE(otherSizes({{}}, {}).empty());
  EXPECT_TRUE(otherSizes({}, {}).empty());
}

}  // namespace
}  // namespace normlens::run
