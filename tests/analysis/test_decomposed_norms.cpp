// LayerNorms written out in the ways of several libraries: found, folded with equal outputs, and left where only nearly
// one.
#include <gtest/gtest.h>

#include <regex>

#include "tests/analysis/analyzed.h"

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

TEST(DecomposedNorms, FlaxIsFoldedByItsWeightsOrBehindACentering) {
  expectFolded(Flax().text());
  expectFolded(Flax().text(R"(%h: float64[2, 5, 8] = Elementwise(%x) op "tanh")"), 1);
}

TEST(DecomposedNorms, FlaxInItsOtherSpellings) {
  std::vector<Flax> spellings(5);
  spellings[0].limited = R"(%l: float64[2, 5] = Elementwise(%v) function Relu)";
  spellings[1].limited = "%l: float64[2, 5] = Identity(%v)";
  spellings[2].mean = "%m: float64[2, 5] = Div(%s, 8)";
  spellings[3].squareOfMean = R"(%mm: float64[2, 5] = Elementwise(%m, 2) function Power)";
  spellings[4].scale = "%k: float64[2, 5, 8] = Mul(%g, %r)";
  for (const Flax& spelling : spellings) expectFolded(spelling.text());
}

TEST(DecomposedNorms, WhatIsOnlyNearlyFlaxIsNone) {
  std::vector<Flax> others(6);
  others[0].mean = "%m: float64[2, 5] = Mul(%s, 0.25)";                                // twice the mean
  others[1].meanOfSquares = "%q: float64[2, 5] = Mul(%t, 0.25)";                       // twice the mean square
  others[2].variance = "%v: float64[2, 5] = Sub(%mm, %q)";                             // the wrong way round
  others[3].limited = R"(%l: float64[2, 5] = Elementwise(0.5, %v) function Maximum)";  // another limit
  others[4].squareOfMean = "%mm: float64[2, 5] = Mul(%m, %s)";                         // no square
  others[5].centered = "%c: float64[2, 5, 8] = Sub(%mx, %h)";                          // the wrong way round
  for (const Flax& other : others) expectNone(other.text());
}

TEST(DecomposedNorms, AStatisticThatIsReadElsewhereBlocksFlax) {
  for (const std::string leak : {"%m", "%v", "%q", "%c"}) {
    Flax flax;
    flax.rest = " return %y, " + leak + "\n";
    expectKept(flax.text(), "used elsewhere");
  }
}

TEST(DecomposedNorms, AnInputThatIsReadElsewhereIsNotCenteredByItsWeights) {
  Flax flax;
  flax.rest = " return %y, %h\n";
  EXPECT_EQ(found(flax.text(), Policy::Free).folded, 0U);
  EXPECT_LT(found(flax.text()).difference, 1e-12);
}

TEST(DecomposedNorms, ARoundedReciprocalIsSaid) {
  Flax flax;
  flax.mean = "%m: float64[2, 5] = Mul(%s, 0.12500001)";
  expectKept(flax.text(), "rounded 1/8");
}

TEST(DecomposedNorms, TwoPassesWithSumsInsteadOfMeans) {
  expectFolded(R"(graph {
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
  expectFolded(CenteredRms().text());
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
  expectFolded(other.text());
  other.rest = "return %y, %m";
  expectKept(other.text(), "used elsewhere");
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
  expectNone(other.text());
}

TEST(DecomposedNorms, whatIsWrittenToInBetweenIsNoNorm) {
  const graph::Graph whole = parsed(R"(graph {
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
  for (const std::string written : {"", "x", "m", "c"}) {
    graph::Graph graph = whole;
    for (auto& value : graph.values) {
      if (value.name == written) value.opaqueReason = "it is written to";
    }
    const Norms norms = findNorms(graph);
    ASSERT_EQ(norms.layerNorms.size(), 1U) << written;
    EXPECT_EQ(norms.layerNorms[0].blockedReason, written.empty() ? "" : "it is written to") << written;
  }
}

// LayerNorms multiplied out as Keras writes them, x * k + (beta - mean * k) with k = gamma / deviation: found, folded
// with equal outputs, and left where only nearly one.

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

TEST(MultipliedOutNorms, AreFoldedByTheirWeightsOrBehindACentering) {
  expectFolded(Keras().text());
  expectFolded(Keras().text(R"(%h: float64[2, 5, 8] = Elementwise(%x) op "tanh")"), 1);
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
  for (const Keras& spelling : spellings) expectFolded(spelling.text());
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
  for (const Keras& other : others) expectNone(other.text());
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
    expectKept(leaking.text(), "used elsewhere");
  }
}

TEST(MultipliedOutNorms, TheirSizesMayBeReadElsewhere) {
  for (const std::string part : {"%m", "%c", "%v", "%k", "%p", "%s"}) {
    Keras measured;
    measured.outputs = "%z, %sizes";
    measured.sum += "\n  %sizes: int64[3] = ShapeQuery(" + part + ")";
    expectFolded(measured.text());
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
  expectFolded(made.text());
}

TEST(MultipliedOutNorms, AGammaOfTheRunIsNone) {
  Keras gated;
  gated.scale = "%gg: float64[2, 5, 8] = Add(%g, %x)\n  %k: float64[2, 5, 8] = Mul(%gg, %r)";
  expectNone(gated.text());
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

// LayerNorms whose means are products with constants: matrix products and einsums with 1/n.

struct Products {
  std::string mean = "%m: float64[2, 5, 1] = MatMul(%h, %column)";
  std::string variance = "%v: float64[2, 5, 1] = MatMul(%cc, %column)";

  [[nodiscard]] std::string text() const {
    return R"(graph {
  input %x: float64[2, 5, 8]
  const %w: float64[8, 8] random 1
  const %wb: float64[8] random 2
  const %o: float64[3, 8] random 5
  const %column: float64[8, 1] values <.125 .125 .125 .125 .125 .125 .125 .125>
  const %uneven: float64[8, 1] values <.125 .125 .125 .125 .125 .125 .25 0>
  const %sevenths: float64[8, 1] values <.14 .14 .14 .14 .14 .14 .14 .14>
  const %vector: float64[8] values <.125 .125 .125 .125 .125 .125 .125 .125>
  const %ones: float64[2, 8] values <1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1>
  %h: float64[2, 5, 8] = Linear(%x, %w, %wb)
  )" + mean +
           R"(
  %c: float64[2, 5, 8] = Sub(%h, %m)
  %cc: float64[2, 5, 8] = Mul(%c, %c)
  )" + variance +
           R"(
  %e: float64[2, 5, 1] = Add(%v, 1e-03)
  %r: float64[2, 5, 1] = Elementwise(%e) function SquareRoot
  %y: float64[2, 5, 8] = Div(%c, %r)
  %z: float64[2, 5, 3] = Linear(%y, %o)
  return %z
})";
  }
};

TEST(MeansAsProducts, AreMeans) {
  expectFolded(Products().text());
  Products einsum;
  einsum.mean = R"(%mf: float64[2, 5] = Einsum(%h, %vector) {equation = "abc,c->ab"}
  %m: float64[2, 5, 1] = Reshape(%mf) {ones = [2]})";
  expectFolded(einsum.text());
  Products sum;
  sum.mean = R"(%mt: float64[2, 5, 2] = Linear(%h, %ones)
  %mh: float64[2, 5, 1] = Slice(%mt) {axis = 2, start = 0, step = 1}
  %m: float64[2, 5, 1] = Div(%mh, 8))";
  EXPECT_EQ(found(sum.text()).norms, 0U) << "a part of a value that repeats";
  for (const char* weight : {"%uneven", "%sevenths"}) {
    for (std::string Products::*part : {&Products::mean, &Products::variance}) {
      Products other;
      (other.*part).replace((other.*part).find("%column"), 7, weight);
      EXPECT_EQ(found(other.text()).norms, 0U) << weight;
    }
  }
  Products turned;
  turned.mean = R"(%mf: float64[5, 2] = Einsum(%h, %vector) {equation = "abc,c->ba"}
  %m: float64[2, 5, 1] = Reshape(%mf) {ones = [2]})";
  EXPECT_EQ(found(turned.text()).norms, 0U) << "the means of other rows";
}

}  // namespace
}  // namespace normlens::analysis
