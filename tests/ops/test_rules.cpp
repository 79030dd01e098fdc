// Each row of the op table, on random shapes, attributes and patterns: whatever a rule claims has to be true.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>

#include "core/ops/rules.h"
#include "tests/ops/drawn_nodes.h"

namespace normlens::ops {
namespace {

using graph::OpKind;
using testing::OneNode;

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
          {OpKind::LayerNorm, layerNorm, true, true},
          {OpKind::GroupNorm, by(channelNorm, OpKind::GroupNorm), false, true},
          {OpKind::InstanceNorm, by(channelNorm, OpKind::InstanceNorm), false, true},
          {OpKind::BatchNorm, by(channelNorm, OpKind::BatchNorm), false, false},
          {OpKind::BatchNorm, batchNorm, true, true},
          {OpKind::RmsNorm, rmsNorm, false, false},
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

}  // namespace
}  // namespace normlens::ops
