// LayerNorms written out in the ways of several libraries: found, folded with equal outputs, and left where only nearly
// one.
#include <gtest/gtest.h>

#include <regex>

#include "tests/analysis/found_norms.h"

namespace normlens::analysis {
namespace {

// How Flax writes a norm over the last axis of %h: sums times 1/n without the axis, the variance as mean(h^2) -
// mean(h)^2, gamma inside. One line per part, so that a test can change one.
struct Flax {
  std::string mean = "%m: float64[2, 5] = Mul(%s, 0.125)";
  std::string meanOfSquares = "%q: float64[2, 5] = Mul(%t, 0.125)";
  std::string squareOfMean = "%mm: float64[2, 5] = Mul(%m, %m)";
  std::string variance = "%v: float64[2, 5] = Sub(%q, %mm)";
  std::string limited = R"(%l: float64[2, 5] = Elementwise(0, %v) function Maximum)";
  std::string centered = "%c: float64[2, 5, 8] = Sub(%h, %mx)";
  std::string scale = "%k: float64[2, 5, 8] = Mul(%r, %g)";
  std::string rest = " return %y\n";

  [[nodiscard]] std::string text(const std::string& input = "%h: float64[2, 5, 8] = Linear(%x, %w, _)") const {
    return R"(graph {
  input %x: float64[2, 5, 8]
  const %w: float64[8, 8] random 1
  const %g: float64[1, 1, 8] random 2
  const %b: float64[1, 1, 8] random 3
  )" + input +
           R"(
  %s: float64[2, 5] = Reduce(%h) {op = "sum", axes = [2], keepdim = false}
  )" + mean +
           R"(
  %mr: float64[2, 5, 1] = Reshape(%m)
  %mx: float64[2, 5, 8] = Expand(%mr)
  )" + centered +
           R"(
  %hh: float64[2, 5, 8] = Mul(%h, %h)
  %t: float64[2, 5] = Reduce(%hh) {op = "sum", axes = [2], keepdim = false}
  )" + meanOfSquares +
           "\n  " + squareOfMean + "\n  " + variance + "\n  " + limited +
           R"(
  %lr: float64[2, 5, 1] = Reshape(%l)
  %e: float64[2, 5, 1] = Add(%lr, 1e-05)
  %r: float64[2, 5, 1] = Elementwise(%e) function InverseSquareRoot
  )" + scale +
           R"(
  %z: float64[2, 5, 8] = Mul(%c, %k)
  %y: float64[2, 5, 8] = Add(%z, %b)
  )" + rest +
           "}";
  }
};

TEST(DecomposedNorms, FlaxIsFoldedByItsWeights) {
  const Found norm = found(Flax().text());
  EXPECT_EQ(norm.norms, 1U);
  EXPECT_EQ(norm.verdict, Verdict::Free) << norm.reason;
  EXPECT_EQ(norm.folded, 1U);
  EXPECT_EQ(norm.centerings, 0);
  EXPECT_LT(norm.difference, 1e-12);
}

TEST(DecomposedNorms, FlaxIsFoldedBehindARunTimeCentering) {
  const Found norm = found(Flax().text(R"(%h: float64[2, 5, 8] = Elementwise(%x) op "tanh")"));
  EXPECT_EQ(norm.folded, 1U) << norm.reason;
  EXPECT_EQ(norm.centerings, 1);
  EXPECT_LT(norm.difference, 1e-12);
}

TEST(DecomposedNorms, FlaxInItsOtherSpellings) {
  std::vector<Flax> spellings(5);
  spellings[0].limited = R"(%l: float64[2, 5] = Elementwise(%v) function Relu)";
  spellings[1].limited = "%l: float64[2, 5] = Identity(%v)";
  spellings[2].mean = "%m: float64[2, 5] = Div(%s, 8)";
  spellings[3].squareOfMean = R"(%mm: float64[2, 5] = Elementwise(%m, 2) function Power)";
  spellings[4].scale = "%k: float64[2, 5, 8] = Mul(%g, %r)";
  for (const Flax& spelling : spellings) {
    const Found norm = found(spelling.text());
    EXPECT_EQ(norm.folded, 1U) << norm.reason << spelling.text();
    EXPECT_LT(norm.difference, 1e-12) << spelling.text();
  }
}

TEST(DecomposedNorms, WhatIsOnlyNearlyFlaxIsNone) {
  std::vector<Flax> others(6);
  others[0].mean = "%m: float64[2, 5] = Mul(%s, 0.25)";                                // twice the mean
  others[1].meanOfSquares = "%q: float64[2, 5] = Mul(%t, 0.25)";                       // twice the mean square
  others[2].variance = "%v: float64[2, 5] = Sub(%mm, %q)";                             // the wrong way round
  others[3].limited = R"(%l: float64[2, 5] = Elementwise(0.5, %v) function Maximum)";  // another limit
  others[4].squareOfMean = "%mm: float64[2, 5] = Mul(%m, %s)";                         // no square
  others[5].centered = "%c: float64[2, 5, 8] = Sub(%mx, %h)";                          // the wrong way round
  for (const Flax& other : others) EXPECT_EQ(found(other.text()).norms, 0U) << other.text();
}

TEST(DecomposedNorms, AStatisticThatIsReadElsewhereBlocksFlax) {
  for (const std::string leak : {"%m", "%v", "%q", "%c"}) {
    Flax flax;
    flax.rest = " return %y, " + leak + "\n";
    const Found norm = found(flax.text());
    EXPECT_EQ(norm.norms, 1U);
    EXPECT_EQ(norm.folded, 0U) << leak;
    EXPECT_NE(norm.reason.find("used elsewhere"), std::string::npos) << norm.reason;
    EXPECT_EQ(norm.difference, 0);
  }
}

TEST(DecomposedNorms, AnInputThatIsReadElsewhereIsNotCenteredByItsWeights) {
  Flax flax;
  flax.rest = " return %y, %h\n";
  const Found norm = found(flax.text(), Policy::Free);
  EXPECT_EQ(norm.folded, 0U);
  EXPECT_LT(found(flax.text()).difference, 1e-12);
}

TEST(DecomposedNorms, ARoundedReciprocalIsSaid) {
  Flax flax;
  flax.mean = "%m: float64[2, 5] = Mul(%s, 0.12500001)";
  const Found norm = found(flax.text());
  EXPECT_EQ(norm.norms, 1U);
  EXPECT_EQ(norm.folded, 0U);
  EXPECT_NE(norm.reason.find("rounded 1/8"), std::string::npos) << norm.reason;
}

TEST(DecomposedNorms, TwoPassesWithSumsInsteadOfMeans) {
  const Found norm = found(R"(graph {
  input %x: float64[2, 5, 8]
  const %w: float64[8, 8] random 1
  %h: float64[2, 5, 8] = Linear(%x, %w, _)
  %s: float64[2, 5, 1] = Reduce(%h) {op = "sum", axes = [2], keepdim = true}
  %m: float64[2, 5, 1] = Div(%s, 8)
  %c: float64[2, 5, 8] = Sub(%h, %m)
  %cc: float64[2, 5, 8] = Mul(%c, %c)
  %t: float64[2, 5, 1] = Reduce(%cc) {op = "sum", axes = [2], keepdim = true}
  %v: float64[2, 5, 1] = Div(%t, 8)
  %e: float64[2, 5, 1] = Add(%v, 1e-05)
  %r: float64[2, 5, 1] = Elementwise(%e) function SquareRoot
  %y: float64[2, 5, 8] = Div(%c, %r)
  return %y
})");
  EXPECT_EQ(norm.folded, 1U) << norm.reason;
  EXPECT_EQ(norm.centerings, 0);
  EXPECT_LT(norm.difference, 1e-12);
}

// As the layers of a decoder norm what the encoder gives them, each for itself.
TEST(DecomposedNorms, ManyOfOneValueAreAllFound) {
  const std::string layer = R"(
  %m#: float64[2, 5, 1] = Reduce(%x) {op = "mean", axes = [2], keepdim = true}
  %c#: float64[2, 5, 8] = Sub(%x, %m#)
  %q#: float64[2, 5, 8] = Mul(%c#, %c#)
  %v#: float64[2, 5, 1] = Reduce(%q#) {op = "mean", axes = [2], keepdim = true}
  %e#: float64[2, 5, 1] = Add(%v#, 1e-05)
  %r#: float64[2, 5, 1] = Elementwise(%e#) function SquareRoot
  %y#: float64[2, 5, 8] = Div(%c#, %r#))";
  constexpr size_t kLayers = 40;
  std::string text = "graph {\n  input %x: float64[2, 5, 8]", outputs = "%x";
  for (size_t i = 0; i < kLayers; ++i) {
    text += std::regex_replace(layer, std::regex("#"), std::to_string(i));
    outputs += ", %y" + std::to_string(i);
  }
  EXPECT_EQ(findNorms(parsed(text + "\n  return " + outputs + "\n}")).layerNorms.size(), kLayers);
}

// A subtraction of the mean before an RMSNorm in one op.
struct CenteredRms {
  std::string mean = R"(%m: float64[2, 8, 1] = Reduce(%h) {op = "mean", axes = [2], keepdim = true})";
  std::string centered = "%c: float64[2, 8, 8] = Sub(%h, %m)";
  std::string norm = "%n: float64[2, 8, 8] = RmsNorm(%c, %g) {axes = [2], eps = 1e-05}";
  std::string rest = "return %y";

  [[nodiscard]] std::string text() const {
    return R"(graph {
  input %x: float64[2, 8, 8]
  const %w: float64[8, 8] random 1
  const %wb: float64[8] random 2
  const %g: float64[8] random 3
  const %b: float64[8] random 4
  %h: float64[2, 8, 8] = Linear(%x, %w, %wb)
  )" + mean +
           "\n  " + centered + "\n  " + norm + "\n  %y: float64[2, 8, 8] = Add(%n, %b)\n  " + rest + "\n}";
  }
};

TEST(CenteredRmsNorms, AreLayerNorms) {
  const Found norm = found(CenteredRms().text(), Policy::Free);
  EXPECT_EQ(norm.verdict, Verdict::Free) << norm.reason;
  EXPECT_EQ(norm.folded, 1U);
  EXPECT_LT(norm.difference, 1e-12);
  const auto graph = parsed(CenteredRms().text());
  const Norms norms = findNorms(graph);
  EXPECT_TRUE(norms.others.empty());
  ASSERT_EQ(norms.layerNorms.size(), 1U);
  EXPECT_EQ(norms.layerNorms[0].members.size(), 3U);
  EXPECT_EQ(graph.value(norms.layerNorms[0].innerGamma).name, "g");
}

TEST(CenteredRmsNorms, ACenteringForOthersTooIsNoPartOfANorm) {
  CenteredRms other;
  other.rest = "return %y, %c";
  CenteredRms again;
  again.rest = R"(%m2: float64[2, 8, 1] = Reduce(%h) {op = "mean", axes = [2], keepdim = true}
  %c2: float64[2, 8, 8] = Sub(%h, %m2)
  return %y, %c2)";
  for (const CenteredRms& shared : {other, again}) {
    const Norms norms = findNorms(parsed(shared.text()));
    EXPECT_EQ(norms.layerNorms.size(), 0U) << shared.text();
    EXPECT_EQ(norms.others.size(), 1U) << shared.text();
  }
}

TEST(CenteredRmsNorms, AMeanThatIsReadElsewhereKeepsTheLinearAsItIs) {
  CenteredRms other;
  other.rest = "return %y, %m";
  EXPECT_EQ(found(other.text(), Policy::Free).folded, 0U);
  EXPECT_LT(found(other.text()).difference, 1e-12);
}

TEST(CenteredRmsNorms, ASumByItsCountIsAMean) {
  CenteredRms other;
  other.mean = R"(%s: float64[2, 8, 1] = Reduce(%h) {op = "sum", axes = [2], keepdim = true}
  %m: float64[2, 8, 1] = Div(%s, 8))";
  EXPECT_EQ(found(other.text(), Policy::Free).folded, 1U);
  EXPECT_LT(found(other.text(), Policy::Free).difference, 1e-12);
  other.rest = "return %y, %m";
  const Found leaking = found(other.text());
  EXPECT_EQ(leaking.folded, 0U);
  EXPECT_NE(leaking.reason.find("used elsewhere"), std::string::npos) << leaking.reason;
}

TEST(CenteredRmsNorms, WhatIsOnlyNearlyOneStaysAnRmsNorm) {
  std::vector<CenteredRms> others(7);
  others[0].mean = R"(%m: float64[2, 1, 8] = Reduce(%h) {op = "mean", axes = [1], keepdim = true})";
  others[1].mean = R"(%m: float64[2, 1, 1] = Reduce(%h) {op = "mean", axes = [1, 2], keepdim = true})";
  others[2].norm = "%n: float64[2, 8, 8] = RmsNorm(%c, %g) {axes = [1, 2], eps = 1e-05}";
  others[3].mean = R"(%m: float64[2, 8, 1] = Reduce(%h) {op = "max", axes = [2], keepdim = true})";
  others[4].centered = "%c: float64[2, 8, 8] = Sub(%m, %h)";
  others[5].centered = "%c: float64[2, 8, 8] = Sub(%x, %m)";
  others[6].centered = "%c: float64[2, 8, 8] = Add(%h, %m)";
  for (const CenteredRms& other : others) {
    const Norms norms = findNorms(parsed(other.text()));
    EXPECT_EQ(norms.layerNorms.size(), 0U) << other.text();
    EXPECT_EQ(norms.others.size(), 1U) << other.text();
  }
}

// [2, 8] subtracted from [2, 8, 8] meets other elements than those that it is the mean of.
TEST(CenteredRmsNorms, AMeanWithoutItsAxisIsAnotherValue) {
  CenteredRms other;
  other.mean = R"(%m: float64[2, 8] = Reduce(%h) {op = "mean", axes = [2], keepdim = false}
  %mx: float64[1, 2, 8] = Reshape(%m))";
  other.centered = "%c: float64[2, 8, 8] = Sub(%h, %mr)";
  other.mean += "\n  %mr: float64[2, 1, 8] = Permute(%mx) {perm = [1, 0, 2]}";
  EXPECT_EQ(findNorms(parsed(other.text())).layerNorms.size(), 0U);
}

TEST(DecomposedNorms, whatIsWrittenToInBetweenIsNoNorm) {
  const auto parsed = graph::parseGraph(R"(graph {
    input %x: float64[2, 5, 8]
    %m: float64[2, 5, 1] = Reduce(%x) {op = "mean", axes = [2], keepdim = true}
    %c: float64[2, 5, 8] = Sub(%x, %m)
    %q: float64[2, 5, 8] = Mul(%c, %c)
    %v: float64[2, 5, 1] = Reduce(%q) {op = "mean", axes = [2], keepdim = true}
    %e: float64[2, 5, 1] = Add(%v, 1e-05)
    %s: float64[2, 5, 1] = Elementwise(%e) function SquareRoot
    %y: float64[2, 5, 8] = Div(%c, %s)
    return %y
  })");
  ASSERT_TRUE(parsed);
  for (const std::string written : {"", "x", "m", "c"}) {
    graph::Graph graph = *parsed;
    for (auto& value : graph.values) {
      if (value.name == written) value.opaqueReason = "it is written to";
    }
    const Norms norms = findNorms(graph);
    ASSERT_EQ(norms.layerNorms.size(), 1U) << written;
    EXPECT_EQ(norms.layerNorms[0].blockedReason, written.empty() ? "" : "it is written to") << written;
  }
}

}  // namespace
}  // namespace normlens::analysis
