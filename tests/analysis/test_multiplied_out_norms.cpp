// LayerNorms multiplied out as Keras writes them, x * k + (beta - mean * k) with k = gamma / deviation: found, folded
// with equal outputs, and left where only nearly one.
#include <gtest/gtest.h>

#include "tests/analysis/found_norms.h"

namespace normlens::analysis {
namespace {

// One line per part, so that a test can change one. The linear behind the norm reads it as every model does.
struct Keras {
  std::string mean = R"(%m: float64[2, 5, 1] = Reduce(%h) {op = "mean", axes = [2], keepdim = true})";
  std::string centered = "%c: float64[2, 5, 8] = Sub(%h, %m)";
  std::string square = "%cc: float64[2, 5, 8] = Mul(%c, %c)";
  std::string scale = "%k: float64[2, 5, 8] = Mul(%r, %g)";
  std::string product = "%p: float64[2, 5, 8] = Mul(%h, %k)";
  std::string share = "%n: float64[2, 5, 1] = Neg(%m)\n  %s: float64[2, 5, 8] = Mul(%n, %k)";
  std::string rest = "%t: float64[2, 5, 8] = Add(%s, %b)";
  std::string sum = "%y: float64[2, 5, 8] = Add(%p, %t)";
  std::string outputs = "%z";

  [[nodiscard]] std::string text(const std::string& input = "%h: float64[2, 5, 8] = Linear(%x, %w, %wb)") const {
    return R"(graph {
  input %x: float64[2, 5, 8]
  const %w: float64[8, 8] random 1
  const %wb: float64[8] random 2
  const %g: float64[1, 1, 8] random 3
  const %b: float64[1, 1, 8] random 4
  const %o: float64[3, 8] random 5
  const %ob: float64[3] random 6
  )" + input +
           "\n  " + mean + "\n  " + centered + "\n  " + square +
           R"(
  %v: float64[2, 5, 1] = Reduce(%cc) {op = "mean", axes = [2], keepdim = true}
  %e: float64[2, 5, 1] = Add(%v, 1e-05)
  %r: float64[2, 5, 1] = Elementwise(%e) function InverseSquareRoot
  )" + scale +
           "\n  " + product + "\n  " + share + "\n  " + rest + "\n  " + sum +
           "\n  %z: float64[2, 5, 3] = Linear(%y, %o, %ob)\n  return " + outputs + "\n}";
  }
};

TEST(MultipliedOutNorms, AreFoldedByTheirWeights) {
  const Found norm = found(Keras().text(), Policy::Free);
  EXPECT_EQ(norm.norms, 1U);
  EXPECT_EQ(norm.verdict, Verdict::Free) << norm.reason;
  EXPECT_EQ(norm.folded, 1U);
  EXPECT_LT(norm.difference, 1e-12);
}

TEST(MultipliedOutNorms, AreFoldedBehindARunTimeCentering) {
  const Found norm = found(Keras().text(R"(%h: float64[2, 5, 8] = Elementwise(%x) op "tanh")"));
  EXPECT_EQ(norm.folded, 1U) << norm.reason;
  EXPECT_EQ(norm.centerings, 1);
  EXPECT_LT(norm.difference, 1e-12);
}

TEST(MultipliedOutNorms, InTheirOtherSpellings) {
  const std::string productOfMean = "%s: float64[2, 5, 8] = Mul(%k, %m)";
  std::vector<Keras> spellings(8);
  spellings[0].rest = "%t: float64[2, 5, 8] = Add(%b, %s)";
  spellings[1].sum = "%y: float64[2, 5, 8] = Add(%t, %p)";
  spellings[2].product = "%p: float64[2, 5, 8] = Mul(%k, %h)";
  spellings[3].share = productOfMean;
  spellings[3].rest = "%t: float64[2, 5, 8] = Sub(%b, %s)";
  spellings[4].share = "%q: float64[2, 5, 8] = Mul(%m, %k)\n  %s: float64[2, 5, 8] = Neg(%q)";
  spellings[5].rest = "";  // without beta
  spellings[5].sum = "%y: float64[2, 5, 8] = Add(%p, %s)";
  spellings[6].share = productOfMean;
  spellings[6].rest = "";
  spellings[6].sum = "%y: float64[2, 5, 8] = Sub(%p, %s)";
  spellings[7].scale = "%k: float64[2, 5, 1] = Identity(%r)";  // without gamma
  spellings[7].share = "%n: float64[2, 5, 1] = Neg(%m)\n  %s: float64[2, 5, 1] = Mul(%n, %k)";
  for (const Keras& spelling : spellings) {
    const Found norm = found(spelling.text(), Policy::Free);
    EXPECT_EQ(norm.folded, 1U) << norm.reason << spelling.text();
    EXPECT_LT(norm.difference, 1e-12) << spelling.text();
  }
}

TEST(MultipliedOutNorms, WhatIsOnlyNearlyOneIsNone) {
  std::vector<Keras> others(11);
  others[0].share = "%s: float64[2, 5, 8] = Mul(%m, %k)";  // the mean is added
  others[1].share =
      "%n: float64[2, 5, 1] = Neg(%m)\n  %q: float64[2, 5, 8] = Mul(%n, %k)\n  "
      "%s: float64[2, 5, 8] = Neg(%q)";
  others[2].rest = "%t: float64[2, 5, 8] = Sub(%b, %s)";
  others[3].share = "%q: float64[2, 5, 8] = Mul(%m, %k)\n  %s: float64[2, 5, 8] = Neg(%q)";
  others[3].rest = "%t: float64[2, 5, 8] = Sub(%s, %b)";                                     // beta is subtracted
  others[4].share = "%n: float64[2, 5, 1] = Neg(%m)\n  %s: float64[2, 5, 1] = Mul(%n, %r)";  // another scale
  others[5].product = "%p: float64[2, 5, 8] = Mul(%x, %k)";                                  // another value
  others[6].mean = R"(%m: float64[2, 5, 1] = Reduce(%h) {op = "max", axes = [2], keepdim = true})";
  others[7].mean = R"(%m: float64[2, 5, 1] = Reduce(%x) {op = "mean", axes = [2], keepdim = true})";
  others[8].rest = "%t: float64[2, 5, 8] = Add(%s, %x)";  // no constant
  others[9].square = "%cc: float64[2, 5, 8] = Mul(%h, %h)";
  others[10].rest = "";
  others[10].sum = "%y: float64[2, 5, 8] = Sub(%s, %p)";
  for (const Keras& other : others) EXPECT_EQ(found(other.text()).norms, 0U) << other.text();
}

// Keras calls this an RMSNorm: h / deviation, with the mean taken out of the deviation alone.
TEST(MultipliedOutNorms, TheProductAloneIsNoNorm) {
  Keras scaled;
  scaled.share = "";
  scaled.rest = "";
  scaled.sum = "%y: float64[2, 5, 8] = Add(%p, %b)";
  const Norms norms = findNorms(parsed(scaled.text()));
  EXPECT_EQ(norms.layerNorms.size(), 0U);
  EXPECT_EQ(norms.others.size(), 0U);
}

TEST(MultipliedOutNorms, APartThatIsReadElsewhereBlocksThem) {
  for (const std::string leak : {"%m", "%c", "%v", "%k", "%p", "%s", "%t"}) {
    Keras leaking;
    leaking.outputs = "%z, " + leak;
    const Found norm = found(leaking.text());
    EXPECT_EQ(norm.norms, 1U);
    EXPECT_EQ(norm.folded, 0U) << leak;
    EXPECT_NE(norm.reason.find("used elsewhere"), std::string::npos) << norm.reason;
    EXPECT_EQ(norm.difference, 0);
  }
}

TEST(MultipliedOutNorms, TheirSizesMayBeReadElsewhere) {
  for (const std::string part : {"%m", "%c", "%v", "%k", "%p", "%s"}) {
    Keras measured;
    measured.outputs = "%z, %sizes";
    measured.sum += "\n  %sizes: int64[3] = ShapeQuery(" + part + ")";
    const Found norm = found(measured.text(), Policy::Free);
    EXPECT_EQ(norm.folded, 1U) << part << norm.reason;
    EXPECT_LT(norm.difference, 1e-12);
  }
}

// Beta takes its place, and has another shape.
TEST(MultipliedOutNorms, TheSizesOfWhatIsLeftOutMayNot) {
  Keras measured;
  measured.outputs = "%z, %sizes";
  measured.sum += "\n  %sizes: int64[3] = ShapeQuery(%t)";
  EXPECT_EQ(found(measured.text()).folded, 0U);
}

TEST(MultipliedOutNorms, GammaAndBetaMayBeMadeOfConstants) {
  Keras made;
  made.mean += "\n  %gv: float64[8] = Reshape(%g)\n  %gg: float64[8] = Add(1, %gv)\n  %bb: float64[8] = Reshape(%b)";
  made.scale = "%k: float64[2, 5, 8] = Mul(%gg, %r)";
  made.rest = "%t: float64[2, 5, 8] = Add(%s, %bb)";
  const Found norm = found(made.text(), Policy::Free);
  EXPECT_EQ(norm.folded, 1U) << norm.reason;
  EXPECT_LT(norm.difference, 1e-12);
}

TEST(MultipliedOutNorms, AGammaOfTheRunIsNone) {
  Keras gated;
  gated.scale = "%gg: float64[2, 5, 8] = Add(%g, %x)\n  %k: float64[2, 5, 8] = Mul(%gg, %r)";
  EXPECT_EQ(found(gated.text()).norms, 0U);
}

TEST(MultipliedOutNorms, AnInputThatIsReadElsewhereIsNotCenteredByItsWeights) {
  Keras leaking;
  leaking.outputs = "%z, %h";
  EXPECT_EQ(found(leaking.text(), Policy::Free).folded, 0U);
  const Found norm = found(leaking.text());
  EXPECT_EQ(norm.folded, 1U);
  EXPECT_LT(norm.difference, 1e-12);
}

TEST(MultipliedOutNorms, HoldTheirGammaAndBeta) {
  const graph::Graph graph = parsed(Keras().text());
  const Norms norms = findNorms(graph);
  ASSERT_EQ(norms.layerNorms.size(), 1U);
  EXPECT_EQ(graph.value(norms.layerNorms[0].innerGamma).name, "g");
  EXPECT_EQ(graph.value(norms.layerNorms[0].innerBeta).name, "b");
  EXPECT_EQ(graph.value(norms.layerNorms[0].output).name, "y");
}

}  // namespace
}  // namespace normlens::analysis
