#include "core/run/inputs/other_sizes.h"

#include <gtest/gtest.h>

#include "core/run/tensors.h"

namespace normlens::run {
namespace {

using graph::Shape;
using Shapes = std::vector<Shape>;

TEST(OtherSizes, ChangesFreeAxesTogetherFirst) {
  const auto sets = otherSizes({{2, 7}, {2, 7, 7, 4}, {}}, {{0, 1}, {0, 1, 2}, {}});
  ASSERT_EQ(sets.size(), 5U);
  EXPECT_EQ(sets[0], (SizeTrials{{{3, 10}, {3, 10, 10, 4}, {}},
                                 {{4, 14}, {4, 14, 14, 4}, {}},
                                 {{4, 7}, {4, 7, 7, 4}, {}},
                                 {{3, 8}, {3, 8, 8, 4}, {}}}));
  EXPECT_EQ(sets[1], (SizeTrials{{{2, 14}, {2, 14, 14, 4}, {}},
                                 {{2, 3}, {2, 3, 3, 4}, {}},
                                 {{2, 8}, {2, 8, 8, 4}, {}},
                                 {{2, 6}, {2, 6, 6, 4}, {}}}));
  EXPECT_EQ(sets[2][0], (Shapes{{2, 7}, {2, 7, 7, 8}, {}})) << "perhaps that is free as well";
  EXPECT_EQ(sets[3], (SizeTrials{{{2, 8}, {2, 8, 8, 4}, {}}, {{2, 6}, {2, 6, 6, 4}, {}}}));
}

TEST(OtherSizes, OtherRanksAreOfAllOpenInputs) {
  EXPECT_EQ(otherRanks({{7, 7}, {5}, {4}}, {true, true, false}),
            (SizeTrials{{{2, 7, 7}, {2, 5}, {4}}, {{7}, {}, {4}}}));
}

TEST(OtherSizes, ChannelsAreTriedBehindOneInputThatHasNone) {
  EXPECT_EQ(withChannels({{7, 7}, {5, 3}, {4}, {2000, 2000}}, {true, true, false, true}, {3}),
            (SizeTrials{{{7, 7, 3}, {5, 3}, {4}, {2000, 2000}}}));
}

TEST(OtherSizes, GuessesTheBatchWhereNothingIsKnownAndTriesTheOthersByTheirSize) {
  const auto sets = otherSizes({{2, 7}, {5}, {2, 3, 8, 8}}, {});
  ASSERT_EQ(sets.size(), 9U);
  EXPECT_EQ(sets[0][0], (Shapes{{3, 7}, {5}, {3, 3, 8, 8}}));
  EXPECT_EQ(sets[1][0], (Shapes{{2, 7}, {10}, {2, 3, 8, 8}}));
  EXPECT_EQ(sets[2][0], (Shapes{{2, 14}, {5}, {2, 3, 8, 8}}));
  EXPECT_EQ(sets[3][0], (Shapes{{2, 7}, {5}, {2, 6, 8, 8}}));
  EXPECT_EQ(sets[4], (SizeTrials{{{2, 7}, {5}, {2, 3, 4, 4}},
                                 {{2, 7}, {5}, {2, 3, 16, 16}},
                                 {{2, 7}, {5}, {2, 3, 9, 9}},
                                 {{2, 7}, {5}, {2, 3, 7, 7}}}));
}

TEST(OtherSizes, OneOfABatchGetsASecondAndSizesThatDifferStillDo) {
  EXPECT_EQ(otherSizes({{1, 3, 224, 224}}, {{0, 2, 3}})[0][0], (Shapes{{2, 3, 336, 336}}));
  EXPECT_EQ(otherSizes({{1, 2, 3, 4, 5}}, {{0, 1, 2, 3, 4}})[0][0], (Shapes{{2, 3, 4, 6, 7}}));
}

TEST(OtherSizes, OfLargeSidesTheSmallerFirst) {
  const auto sets = otherSizes({{1, 3, 224, 224}}, {});
  EXPECT_EQ(sets.at(2), (SizeTrials{{{1, 3, 112, 112}}, {{1, 3, 336, 336}}, {{1, 3, 448, 448}}, {{1, 3, 223, 223}}}));
  EXPECT_EQ(sets.back(), (SizeTrials{{{1, 3, 3, 3}}})) << "what 224 are cut at may lie beyond a few";
}

TEST(OtherSizes, WhatThereIsOneOfOrNoneGoesWithTheOthersOrHasOneMore) {
  const auto sets = otherSizes({{2, 1, 5}, {2, 4, 8}, {3, 0}}, {});
  EXPECT_EQ(sets[2], (SizeTrials{{{2, 4, 5}, {2, 4, 8}, {3, 0}}, {{2, 2, 5}, {2, 4, 8}, {3, 0}}}));
  EXPECT_EQ(sets[4].back(), (Shapes{{2, 1, 5}, {2, 4, 8}, {3, 1}}));
}

TEST(OtherSizes, ANumberAloneTakesItsNeighboursAndTheWidths) {
  const auto number = [](graph::DType dtype, const Shape& shape, double value) {
    return fromDoubles(dtype, shape, std::vector(static_cast<size_t>(graph::elementCount(shape).value()), value));
  };
  const formats::Tensors sample{{"x", number(graph::DType::Float32, {}, 1)},
                                {"n", number(graph::DType::Int64, {1}, 1)},
                                {"ids", number(graph::DType::Int64, {2}, 1)},
                                {"k", number(graph::DType::Int32, {}, 7)}};
  std::vector<std::vector<double>> tried;
  for (const auto& inputs : otherNumbers(sample, {2, 8})) {
    ASSERT_EQ(inputs.size(), 4U);
    EXPECT_EQ(inputs[1].view.shape, (Shape{1}));
    tried.push_back({graph::toDoubles(inputs[1].view)->front(), graph::toDoubles(inputs[3].view)->front()});
  }
  EXPECT_EQ(tried, (std::vector<std::vector<double>>{{2, 7}, {0, 7}, {8, 7}, {1, 8}, {1, 6}, {1, 2}}));
}

TEST(OtherSizes, AreBounded) {
  EXPECT_EQ(otherSizes({{2, 3, 4, 5, 6, 7, 8, 9}}, {}).size(), 11U);
  EXPECT_TRUE(otherSizes({{}}, {}).empty());
  EXPECT_TRUE(otherSizes({}, {}).empty());
}

}  // namespace
}  // namespace normlens::run
