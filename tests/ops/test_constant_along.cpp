// What is called constant along a pattern, on random expressions of gates and masks.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "core/ops/rules.h"
#include "tests/support/graph_builder.h"
#include "tests/support/graph_interpreter.h"
#include "tests/support/graph_text.h"
#include "tests/support/rule_property.h"

namespace normlens::ops {
namespace {

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
