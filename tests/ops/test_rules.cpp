// Each row of the op table, on random shapes, attributes and patterns: whatever a rule claims has to be true.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>

#include "core/ops/rules.h"
#include "tests/ops/drawn_nodes.h"
#include "tests/ops/patterns.h"
#include "tests/support/graph_builder.h"
#include "tests/support/graph_text.h"
#include "tests/support/rule_property.h"

namespace normlens::ops {
namespace {

using graph::OpKind;
using graph::Shape;
using testing::OneNode;
using testing::oneNode;
using testing::toleratesShift;
using Ints = std::vector<int64_t>;

constexpr int kCases = 60;

struct Row {
  OpKind kind;
  std::function<OneNode(Draw&)> draw;
  bool keepsMeans;  // some zero-mean claim is expected
  bool toleratesShifts;
};

std::vector<Row> rows() {
  const auto by = [](auto make, OpKind kind) { return [make, kind](Draw& draw) { return make(draw, kind); }; };
  return {{OpKind::Opaque, by(unary, OpKind::Opaque), false, false},
          {OpKind::Identity, by(unary, OpKind::Identity), true, true},
          {OpKind::Cast, by(unary, OpKind::Cast), true, true},
          {OpKind::Neg, by(unary, OpKind::Neg), true, true},
          {OpKind::Add, by(sum, OpKind::Add), true, true},
          {OpKind::Sub, by(sum, OpKind::Sub), true, true},
          {OpKind::Mul, by(product, OpKind::Mul), true, true},
          {OpKind::Div, by(product, OpKind::Div), true, true},
          {OpKind::Elementwise, by(unary, OpKind::Elementwise), false, false},
          {OpKind::Where, where, true, true},
          {OpKind::MaskedFill, maskedFill, true, true},
          {OpKind::Reshape, reshape, true, true},
          {OpKind::Permute, permute, true, true},
          {OpKind::Rearrange, rearrange, true, true},
          {OpKind::Expand, expand, true, true},
          {OpKind::Slice, slice, true, true},
          {OpKind::Select, select, true, true},
          {OpKind::Split, split, true, true},
          {OpKind::Unbind, unbind, true, true},
          {OpKind::Concat, concat, true, true},
          {OpKind::Stack, stack, true, true},
          {OpKind::Roll, roll, true, true},
          {OpKind::Pad, pad, true, true},
          {OpKind::Gather, gather, true, true},
          {OpKind::Gather, gatherTogether, true, true},
          {OpKind::Scatter, scatterRows, true, true},
          {OpKind::Scatter, scatterElements, true, true},
          {OpKind::MaskedCopy, maskedCopy, true, true},
          {OpKind::Linear, linear, true, true},
          {OpKind::MatMul, matmul, true, true},
          {OpKind::AddMatMul, addMatmul, true, true},
          {OpKind::Einsum, einsum, true, true},
          {OpKind::Conv, convolution, true, true},
          {OpKind::Attention, attention, true, true},
          {OpKind::Attention, projectedAttention, true, true},
          {OpKind::Recurrent, by(unary, OpKind::Recurrent), false, false},
          {OpKind::LayerNorm, by(lastAxesNorm, OpKind::LayerNorm), true, true},
          {OpKind::GroupNorm, by(channelNorm, OpKind::GroupNorm), false, true},
          {OpKind::InstanceNorm, by(channelNorm, OpKind::InstanceNorm), false, true},
          {OpKind::BatchNorm, by(channelNorm, OpKind::BatchNorm), false, false},
          {OpKind::BatchNorm, batchNorm, true, true},
          {OpKind::RmsNorm, by(lastAxesNorm, OpKind::RmsNorm), true, false},
          {OpKind::Softmax, softmax, false, true},
          {OpKind::Reduce, reduce, true, true},
          {OpKind::Mix, mix, true, true},
          {OpKind::ShapeQuery, by(unary, OpKind::ShapeQuery), false, true},
          {OpKind::ShapeQuery, zeros, true, true}};
}

TEST(Rules, everyRowIsTested) {
  std::set<OpKind> tested;
  for (const Row& row : rows()) tested.insert(row.kind);
  // If and Loop have blocks and a test of their own.
  EXPECT_EQ(tested.size() + 2, static_cast<size_t>(OpKind::Count_));
}

TEST(Rules, claimsHold) {
  std::mt19937 random(2024);
  Draw draw(random);
  for (const Row& row : rows()) {
    testing::ClaimCount claims;
    for (int i = 0; i < kCases; ++i) {
      const auto count = testing::checkRules(row.draw(draw), random, 4);
      claims.zeroMean += count.zeroMean;
      claims.shift += count.shift;
    }
    const auto name = graph::opKindName(row.kind);
    EXPECT_GE(claims.zeroMean, row.keepsMeans ? 5 : 0) << name;
    EXPECT_GE(claims.shift, row.toleratesShifts ? 10 : 0) << name;
    EXPECT_EQ(claims.zeroMean > 0, row.keepsMeans) << name;
    EXPECT_EQ(claims.shift > 0, row.toleratesShifts) << name;
  }
}

// What rows carry on: slices that a run chooses, explicit centerings, and what If and Loop ask of their bodies.

const Shape kX{2, 3, 8};
const Pattern kChannels = over(kX, {2});

// Some of the positions, it is not known which: what is equal for several of them is equal for each.
TEST(Rules, runtimeSliceOfPositionsKeepsWhatIsConstantAlongTheChannels) {
  const OneNode slice =
      oneNode(OpKind::Slice, {kX, Shape{}}, {{"axis", int64_t{1}}, {"step", int64_t{1}}}, {{2, 2, 8}});
  const auto& node = slice.graph.nodes.front();
  const Shift shift = opRow(node.kind).shift(slice.graph, node, 0, text("(2)(3 sum of 1:3)(8 sum)"));
  ASSERT_EQ(shift.verdict, Shift::Verdict::Carried);
  EXPECT_EQ(shift.outputs.at(0).pattern, over({2, 2, 8}, {2}));
  EXPECT_FALSE(toleratesShift(slice, 0, text("(2)(3 sum of 1:3)(8)")));
}

// Of one channel nothing is left that is equal, and it may still be asked for its sizes.
TEST(Rules, oneChannelHandsOnAShiftThatIsEqualNowhere) {
  const OneNode pick = oneNode(OpKind::Select, {kX}, {{"axis", int64_t{2}}, {"index", int64_t{7}}}, {{2, 3}});
  const auto& node = pick.graph.nodes.front();
  const Shift shift = opRow(node.kind).shift(pick.graph, node, 0, kChannels);
  ASSERT_EQ(shift.verdict, Shift::Verdict::Carried);
  EXPECT_FALSE(shift.outputs.at(0).pattern.sumsAnything());
}

// x - mean(x): the two reads of x stand and fall together.
TEST(Rules, explicitCentering) {
  const auto graph = [](const std::string& extra, const std::string& returned) {
    return *graph::parseGraph(
        "graph { input %x: float64[2, 3, 8]\n"
        "%m: float64[2, 3, 1] = Reduce(%x) {op = \"mean\", axes = [2], keepdim = true}\n"
        "%c: float64[2, 3, 8] = Sub(%x, %m)" +
        extra + "\n return %c" + returned + "\n}");
  };
  const auto plain = graph("", "");
  const auto& reduce = plain.node(0);
  const auto& sub = plain.node(1);
  EXPECT_EQ(opRow(OpKind::Sub).zeroMean(plain, sub, 0, kChannels).verdict, ZeroMean::Verdict::Proven);
  EXPECT_EQ(opRow(OpKind::Sub).zeroMean(plain, sub, 0, over(kX, {1})).verdict, ZeroMean::Verdict::Needs);
  EXPECT_EQ(opRow(OpKind::Sub).shift(plain, sub, 0, kChannels).verdict, Shift::Verdict::Absorbed);
  EXPECT_EQ(opRow(OpKind::Reduce).shift(plain, reduce, 0, kChannels).verdict, Shift::Verdict::Absorbed);
  const auto leaking = graph("", ", %m");
  EXPECT_EQ(opRow(OpKind::Sub).shift(leaking, leaking.node(1), 0, kChannels).verdict, Shift::Verdict::Refused);
  EXPECT_EQ(opRow(OpKind::Reduce).shift(leaking, leaking.node(0), 0, kChannels).verdict, Shift::Verdict::Refused);
  const auto halved = graph(" {alpha = 0.5}", "");
  EXPECT_EQ(opRow(OpKind::Sub).zeroMean(halved, halved.node(1), 0, kChannels).verdict, ZeroMean::Verdict::Needs);
}

TEST(Rules, ifNeedsBothBranchesAndLoopItsStartAndItsStep) {
  const auto graph = *graph::parseGraph(R"(graph {
    input %x: float64[2, 8]
    input %f: bool[]
    input %n: int64[]
    %i: float64[2, 8] = If(%f)
    block () {
      %p: float64[2, 8] = Neg(%x)
      return %p
    }
    block () {
      return %x
    }
    %l: float64[2, 8] = Loop(%n, 1, %i)
    block (%k: int64[], %c: float64[2, 8]) {
      %q: float64[2, 8] = Neg(%c)
      return 1, %q
    }
    return %l
  })");
  const Pattern pattern = over({2, 8}, {1});
  for (const auto& node : graph.nodes) {
    if (node.kind != OpKind::If && node.kind != OpKind::Loop) continue;
    const auto& row = opRow(node.kind);
    const auto needs = row.zeroMean(graph, node, 0, pattern);
    ASSERT_EQ(needs.verdict, ZeroMean::Verdict::Needs);
    EXPECT_EQ(needs.needs.size(), 2U);
    EXPECT_EQ(row.shift(graph, node, 0, Pattern{}).verdict, Shift::Verdict::Refused);  // condition, trip count
    if (node.kind == OpKind::If) continue;
    const auto shift = row.shift(graph, node, 2, pattern);
    ASSERT_EQ(shift.verdict, Shift::Verdict::Carried);
    EXPECT_EQ(shift.outputs.size(), 2U);  // what comes out, and what the next pass sees
  }
}

TEST(Refused, aMeanOfAValueThatIsWrittenToBeforeItIsSubtracted) {
  for (const bool written : {false, true}) {
    testing::GraphBuilder g(1);
    const auto x = g.input(kX);
    const auto h = g.add(OpKind::Elementwise, {x}, kX);
    const auto mean =
        g.add(OpKind::Reduce, {h}, {2, 3, 1}, {{"op", std::string("mean")}, {"axes", Ints{2}}, {"keepdim", true}});
    const auto y = g.add(OpKind::Sub, {h, mean}, kX);
    if (written) g.graph().values[static_cast<size_t>(h)].opaqueReason = "it is written to through a view";
    EXPECT_NE(explicitCentering(g.graph(), g.graph().node(g.graph().value(y).producer)).has_value(), written);
  }
}

}  // namespace
}  // namespace normlens::ops
