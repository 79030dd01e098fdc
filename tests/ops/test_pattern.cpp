// Patterns against brute force, and what is called constant along one, on random expressions of gates and masks.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "core/ops/pattern.h"
#include "core/ops/rules.h"
#include "tests/ops/patterns.h"
#include "tests/support/graph_builder.h"
#include "tests/support/graph_interpreter.h"
#include "tests/support/graph_text.h"
#include "tests/support/must.h"
#include "tests/support/rule_property.h"

namespace normlens::ops {
namespace {

TEST(Pattern, reshapeDoesNotChangeIt) {
  EXPECT_EQ(over({2, 5, 8}, {2}), over({10, 8}, {1}));
  EXPECT_EQ(over({2, 5, 2, 4}, {2, 3}), over({2, 5, 8}, {2}));
  EXPECT_NE(over({2, 5, 2, 4}, {3}), over({2, 5, 8}, {2}));
}

TEST(Pattern, canonicalFormDropsOnesAndMergesASingleIndex) {
  EXPECT_EQ(over({1, 5, 1, 8}, {3}), over({5, 8}, {1}));
  // The second of three chunks of 8 channels, each chunk summed on its own.
  const Pattern chunk = Pattern::fromFactors({{10, 0, 10, false}, {3, 1, 2, false}, {8, 0, 8, true}});
  EXPECT_EQ(chunk, Pattern::fromFactors({{10, 0, 10, false}, {24, 8, 16, true}}));
  EXPECT_EQ(chunk.groupSize(), 8);
  EXPECT_EQ(chunk.regionSize(), 80);
}

TEST(Pattern, alignCutsAtAxisBorders) {
  const Pattern heads = Pattern::fromFactors({{10, 0, 10, false}, {2, 0, 2, false}, {4, 0, 4, true}});
  const auto dims = must(alignTo(heads, std::vector<int64_t>{2, 5, 8}));
  EXPECT_EQ(dims[2].size(), 2U);
  EXPECT_EQ(joinDims(dims), heads);
  EXPECT_FALSE(alignTo(heads, std::vector<int64_t>{2, 5, 3}));
  EXPECT_FALSE(alignTo(Pattern::fromFactors({{6, 1, 5, true}}), std::vector<int64_t>{2, 3}));
}

TEST(Pattern, coversGroups) {
  const Pattern channels = over({2, 5, 8}, {2});
  const Pattern heads = Pattern::fromFactors({{20, 0, 20, false}, {4, 0, 4, true}});
  const Pattern both = over({2, 5, 8}, {1, 2});
  EXPECT_TRUE(channels.coversGroupsOf(channels));
  EXPECT_TRUE(channels.coversGroupsOf(heads));  // a norm per head does not see a shift over all heads
  EXPECT_FALSE(heads.coversGroupsOf(channels));
  EXPECT_FALSE(channels.coversGroupsOf(both));
  EXPECT_TRUE(both.coversGroupsOf(channels));
  const Pattern part = Pattern::fromFactors({{10, 0, 10, false}, {8, 0, 4, true}});
  EXPECT_FALSE(part.coversGroupsOf(channels));  // the shift is 0 on the other half
}

TEST(Pattern, textRoundTrips) {
  for (const Pattern& pattern :
       {Pattern{}, over({2, 5, 8}, {2}), Pattern::fromFactors({{10, 0, 10, false}, {24, 8, 16, true}})}) {
    EXPECT_EQ(Pattern::parse(pattern.text()), pattern) << pattern.text();
  }
  for (const char* bad : {"", "x", "(0)", "(4 sum", "(4 of 3:2)", "(4 of 0:5)", "(4294967296)(4294967296)"})
    EXPECT_FALSE(Pattern::parse(bad)) << bad;
}

// Brute force: the group of each element, -1 outside the region.
std::vector<int64_t> groups(const Pattern& pattern, int64_t count) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, id = 0, stride = 1;
    bool inside = true;
    for (size_t f = pattern.factors.size(); f-- > 0;) {
      const auto& factor = pattern.factors[f];
      const int64_t digit = rest % factor.size;
      rest /= factor.size;
      inside = inside && digit >= factor.begin && digit < factor.end;
      if (!factor.summed) id += digit * stride;
      stride *= factor.size;
    }
    out.push_back(inside ? id : -1);
  }
  return out;
}

Factors randomFactors(std::mt19937& random) {
  Factors out;
  for (const int64_t size : {2, 3, 2, 4}) {
    Factor factor{size, 0, size, random() % 2 == 0};
    if (random() % 4 == 0) {
      factor.begin = static_cast<int64_t>(random()) % size;
      factor.end = factor.begin + 1 + static_cast<int64_t>(random()) % (size - factor.begin);
    }
    out.push_back(factor);
  }
  return out;
}

TEST(Pattern, canonicalFormKeepsTheGroups) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    const auto factors = randomFactors(random);
    const auto before = groups(Pattern{factors}, 48);
    const auto after = groups(Pattern::fromFactors(factors), 48);
    for (size_t i = 0; i < 48; ++i) {
      EXPECT_EQ(before[i] < 0, after[i] < 0);
      for (size_t j = 0; j < i; ++j) {
        if (before[i] < 0 || before[j] < 0) continue;
        EXPECT_EQ(before[i] == before[j], after[i] == after[j]);
      }
    }
  }
}

TEST(Pattern, coveringIsNeverClaimedWrongly) {
  std::mt19937 random(11);
  int claimed = 0;
  for (int round = 0; round < 2000; ++round) {
    const Pattern shift = Pattern::fromFactors(randomFactors(random));
    const Pattern norm = Pattern::fromFactors(randomFactors(random));
    if (!shift.coversGroupsOf(norm)) continue;
    ++claimed;
    const auto s = groups(shift, 48);
    const auto n = groups(norm, 48);
    // A shift, equal within its groups and 0 outside, is equal over every group of the norm.
    for (size_t i = 0; i < 48; ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (n[i] < 0 || n[i] != n[j]) continue;
        EXPECT_EQ(s[i], s[j]) << shift.text() << " " << norm.text();
      }
    }
  }
  EXPECT_GT(claimed, 20);
}

// Of values of different sizes there is no common cut, and it is not looked for forever.
TEST(Pattern, ofAnotherSizeCoversNothing) {
  const Pattern large = Pattern::parse("(10)(8 sum)").value(), small = Pattern::parse("(2)(8 sum)").value();
  EXPECT_FALSE(large.coversGroupsOf(small));
  EXPECT_FALSE(small.coversGroupsOf(large));
  EXPECT_FALSE(large.centeringKeeps(small));
}

// Random patterns P and Q: where centering over P is said to keep zero means over Q, it does.
TEST(Pattern, centeringKeepsZeroMeans) {
  std::mt19937 random(3);
  const graph::Shape shape{4, 3, 4};
  int claimed = 0;
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    const Pattern p = testing::randomPattern(shape, random);
    const Pattern q = testing::randomPattern(shape, random);
    testing::Tensor tensor = testing::randomTensor(shape, random);
    testing::center(tensor, q);
    testing::center(tensor, p);
    const bool kept = testing::groupSumError(tensor, q) < 1e-12;
    if (p.centeringKeeps(q)) {
      ++claimed;
      EXPECT_TRUE(kept) << p.text() << " after " << q.text();
    }
    refused += kept ? 0 : 1;
  }
  EXPECT_GT(claimed, 500);
  EXPECT_GT(refused, 100);
  EXPECT_FALSE(text("(6)(8 sum)").centeringKeeps(text("(6)(8 sum of 0:4)")));
  EXPECT_TRUE(text("(6)(2)(4 sum)").centeringKeeps(text("(6)(8 sum)")));
}

using graph::OpKind;
using graph::Shape;
using testing::Tensor;
using Ints = std::vector<int64_t>;

// What is called constant along a pattern is equal within each of its groups.
TEST(Rules, constantAlongIsTrue) {
  int claimed = 0;
  int refused = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    testing::GraphBuilder g(seed);
    const Shape full{2, 3, 4};
    std::vector<graph::ValueId> values{g.input(full),   g.input({2, 3, 1}), g.input({3, 1}),
                                       g.input({1, 4}), g.number(0.5),      g.constant(Tensor({3, 4}, 2.0)),
                                       g.weight({4})};
    const auto pick = [&] { return values[static_cast<size_t>(g.below(static_cast<int64_t>(values.size())))]; };
    for (int step = 0; step < 8; ++step) {
      const auto a = pick(), b = pick();
      const auto kinds = std::array{OpKind::Add, OpKind::Mul, OpKind::Elementwise, OpKind::Sub};
      switch (g.below(5)) {
        case 0:
          values.push_back(g.add(OpKind::Expand, {a}, full));
          break;
        case 1: {
          const auto wide = g.add(OpKind::Expand, {a}, full);
          values.push_back(g.add(OpKind::Reshape, {g.add(OpKind::Reshape, {wide}, {6, 4})}, full));
          break;
        }
        case 2: {
          const auto wide = g.add(OpKind::Expand, {a}, full);
          const auto turned = g.add(OpKind::Permute, {wide}, {4, 2, 3}, {{"perm", Ints{2, 0, 1}}});
          const auto some = g.add(OpKind::Slice, {turned}, {2, 2, 3},
                                  {{"axis", int64_t{0}}, {"start", g.below(3)}, {"step", int64_t{1}}});
          values.push_back(g.add(OpKind::Select, {some}, {2, 3}, {{"axis", int64_t{0}}, {"index", g.below(2)}}));
          values.back() = g.add(OpKind::Reshape, {values.back()}, {2, 3, 1});
          break;
        }
        default: {
          const auto kind = kinds[static_cast<size_t>(g.below(4))];
          values.push_back(g.add(kind, {a, b}, testing::broadcastShape(g.shape(a), g.shape(b))));
        }
      }
    }
    for (const auto value : values) g.addReturn(0, value);
    std::mt19937 random(seed);
    const auto computed = testing::interpret(g.graph(), testing::drawInputs(g.graph(), random));
    for (size_t v = 0; v < values.size(); ++v) {
      const Pattern pattern = testing::randomPattern(g.shape(values[v]), random);
      if (!pattern.sumsAnything()) continue;
      if (!isConstantAlong(g.graph(), values[v], pattern)) {
        ++refused;
        continue;
      }
      ++claimed;
      Tensor inside = computed[v];
      const auto groups = testing::groupOf(pattern, static_cast<int64_t>(inside.at.size()));
      for (size_t i = 0; i < groups.size(); ++i) inside.at[i] = groups[i] < 0 ? 0 : inside.at[i];
      EXPECT_LT(testing::shiftError(inside, pattern, 1.0), 1e-12) << graph::printGraph(g.graph()) << pattern.text();
    }
  }
  EXPECT_GT(claimed, 200);
  EXPECT_GT(refused, 200);
}

TEST(Rules, aLongChainOfConstantsIsAnsweredOnce) {
  testing::GraphBuilder g(1);
  graph::ValueId value = g.add(OpKind::Expand, {g.weight({3, 1})}, {3, 4});
  for (int i = 0; i < 40; ++i) value = g.add(OpKind::Mul, {value, value}, {3, 4});
  EXPECT_TRUE(isConstantAlong(g.graph(), value, Pattern::overAxes({3, 4}, Ints{1})));
}

}  // namespace
}  // namespace normlens::ops
