// LayerNorms over the channels of an image, [batch, channels, height, width], written out.
#include <gtest/gtest.h>

#include "core/analysis/claims/shifts.h"
#include "core/analysis/norms/whole_norm.h"
#include "tests/analysis/found_norms.h"

namespace normlens::analysis {
namespace {

struct Image {
  std::string axis = "1";
  std::string kept = "2, 1, 3, 5";
  std::string varianceAxis = "1";
  std::string outputs = "%z";

  // The last linear reads the norm's channels.
  [[nodiscard]] std::string text() const {
    return R"(graph {
  input %x: float64[2, 3, 5, 8]
  const %w: float64[8, 8] random 1
  const %wb: float64[8] random 2
  const %g: float64[8, 1, 1] random 3
  const %b: float64[8, 1, 1] random 4
  const %o: float64[4, 8] random 5
  const %ob: float64[4] random 6
  %l: float64[2, 3, 5, 8] = Linear(%x, %w, %wb)
  %h: float64[2, 8, 3, 5] = Permute(%l) {perm = [0, 3, 1, 2]}
  %m: float64[)" +
           kept + R"(] = Reduce(%h) {op = "mean", axes = [)" + axis + R"(], keepdim = true}
  %c: float64[2, 8, 3, 5] = Sub(%h, %m)
  %cc: float64[2, 8, 3, 5] = Mul(%c, %c)
  %v: float64[)" +
           kept + R"(] = Reduce(%cc) {op = "mean", axes = [)" + varianceAxis + R"(], keepdim = true}
  %e: float64[)" +
           kept + R"(] = Add(%v, 1e-05)
  %r: float64[)" +
           kept + R"(] = Elementwise(%e) function SquareRoot
  %n: float64[2, 8, 3, 5] = Div(%c, %r)
  %s: float64[2, 8, 3, 5] = Mul(%g, %n)
  %y: float64[2, 8, 3, 5] = Add(%s, %b)
  %p: float64[2, 3, 5, 8] = Permute(%y) {perm = [0, 2, 3, 1]}
  %z: float64[2, 3, 5, 4] = Linear(%p, %o, %ob)
  return )" +
           outputs + "\n}";
  }
};

TEST(ChannelNorms, AreFoldedByTheirWeights) {
  const Found norm = found(Image().text(), Policy::Free);
  EXPECT_EQ(norm.norms, 1U);
  EXPECT_EQ(norm.verdict, Verdict::Free) << norm.reason;
  EXPECT_EQ(norm.folded, 1U);
  EXPECT_LT(norm.difference, 1e-12);
}

TEST(ChannelNorms, AreFoldedBehindARunTimeCentering) {
  Image read;
  read.outputs = "%z, %l";
  EXPECT_EQ(found(read.text(), Policy::Free).folded, 0U);
  const Found norm = found(read.text());
  EXPECT_EQ(norm.folded, 1U) << norm.reason;
  EXPECT_EQ(norm.centerings, 1);
  EXPECT_LT(norm.difference, 1e-12);
}

TEST(ChannelNorms, NormsOverOtherSingleAxesAreNone) {
  Image batch, height;
  batch.axis = batch.varianceAxis = "0";
  batch.kept = "1, 8, 3, 5";
  height.axis = height.varianceAxis = "2";
  height.kept = "2, 8, 1, 5";
  for (const Image& other : {batch, height}) EXPECT_EQ(found(other.text()).norms, 0U) << other.text();
}

// A series [batch, time, features] that is normalized over time.
TEST(ChannelNorms, OfThreeAxesTheLastAloneIsOfFeatures) {
  EXPECT_EQ(found(R"(graph {
  input %x: float64[2, 5, 8]
  %m: float64[2, 1, 8] = Reduce(%x) {op = "mean", axes = [1], keepdim = true}
  %c: float64[2, 5, 8] = Sub(%x, %m)
  %cc: float64[2, 5, 8] = Mul(%c, %c)
  %v: float64[2, 1, 8] = Reduce(%cc) {op = "mean", axes = [1], keepdim = true}
  %e: float64[2, 1, 8] = Add(%v, 1e-05)
  %r: float64[2, 1, 8] = Elementwise(%e) function SquareRoot
  %y: float64[2, 5, 8] = Div(%c, %r)
  return %y
})")
                .norms,
            0U);
}

// The ops for norms, and the ways that a beta moves, are for the last axes.
TEST(ChannelNorms, AreNotMadeOneOp) {
  const graph::Graph graph = parsed(Image().text());
  const Norms norms = findNorms(graph);
  ASSERT_EQ(norms.layerNorms.size(), 1U);
  EXPECT_EQ(norms.layerNorms[0].axes, (std::vector<int64_t>{1}));
  EXPECT_TRUE(joinableNorms(graph, norms, true).empty());
  EXPECT_FALSE(movableShift(graph, norms.layerNorms[0]));
  EXPECT_EQ(wholeNorm(graph, norms.layerNorms[0]).gamma, graph::kNoValue);
}

TEST(ChannelNorms, LastAxesAreTheLastOnes) {
  EXPECT_TRUE(areLastAxes({3}, 4));
  EXPECT_TRUE(areLastAxes({2, 3}, 4));
  EXPECT_FALSE(areLastAxes({1}, 4));
  EXPECT_FALSE(areLastAxes({1, 3}, 4));
  EXPECT_FALSE(areLastAxes({2, 3}, 5));
}

}  // namespace
}  // namespace normlens::analysis
