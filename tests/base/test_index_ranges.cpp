#include <gtest/gtest.h>

#include <random>
#include <set>

#include "core/base/index_ranges.h"

namespace normlens {
namespace {

std::vector<int> listOf(const std::set<int>& set) { return {set.begin(), set.end()}; }

TEST(IndexRanges, NeighboursGrowTogether) {
  IndexRanges set{3, 1};
  EXPECT_EQ(set.ranges().size(), 2U);
  EXPECT_TRUE(set.add(2));
  ASSERT_EQ(set.ranges().size(), 1U);
  EXPECT_EQ(set.ranges()[0], (IndexRange{1, 3}));
  EXPECT_FALSE(set.add(2));
  EXPECT_EQ(set.size(), 3);
}

TEST(IndexRanges, RemoveSplitsARange) {
  IndexRanges set;
  ASSERT_TRUE(set.append({0, 4}));
  set.remove(2);
  set.remove(7);
  EXPECT_EQ(set.indices(), (std::vector{0, 1, 3, 4}));
  set.remove(0);
  set.remove(4);
  EXPECT_EQ(set.indices(), (std::vector{1, 3}));
}

TEST(IndexRanges, AppendRefusesWhatIsNotBehind) {
  IndexRanges set;
  EXPECT_FALSE(set.append({-1, 0}));
  EXPECT_FALSE(set.append({5, 4}));
  EXPECT_TRUE(set.append({2, 5}));
  EXPECT_FALSE(set.append({6, 8})) << "touches the range before it";
  EXPECT_FALSE(set.append({0, 0}));
  EXPECT_TRUE(set.append({7, 7}));
  EXPECT_EQ(set.indices(), (std::vector{2, 3, 4, 5, 7}));
  EXPECT_EQ(set.indices(3), (std::vector{2, 3, 4}));
}

TEST(IndexRanges, AgreesWithASetOfNumbers) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> number(0, 30);
  for (int round = 0; round < 300; ++round) {
    IndexRanges ranges, more;
    std::set<int> set, moreSet;
    for (int i = 0; i < 12; ++i) {
      const int a = number(random), b = number(random), c = number(random);
      EXPECT_EQ(ranges.add(a), set.insert(a).second);
      more.add(b);
      moreSet.insert(b);
      ranges.remove(c);
      set.erase(c);
    }
    const size_t before = set.size();
    set.insert(moreSet.begin(), moreSet.end());
    EXPECT_EQ(ranges.merge(more), set.size() != before);
    EXPECT_EQ(ranges.indices(), listOf(set));
    EXPECT_EQ(ranges.size(), static_cast<int64_t>(set.size()));
    for (int i = -1; i < 32; ++i) EXPECT_EQ(ranges.contains(i), set.contains(i));
  }
}

}  // namespace
}  // namespace normlens
