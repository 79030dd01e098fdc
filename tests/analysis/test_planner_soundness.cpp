// Small models in which two right edits meet: each was, or could be, a way to change an output without a word.
#include <gtest/gtest.h>

#include "tests/analysis/analyzed.h"

namespace normlens::analysis {
namespace {

// What the plan of a policy folds; the outputs must stay as they are under every one.
Plan soundPlan(const std::string& text, Policy policy) {
  const Analyzed model(text);
  for (const Policy each : kPolicies) {
    const Plan plan = makePlan(*model, optionsOf(each, 1e9));
    EXPECT_LT(model.difference(plan), 1e-10) << nameOf(each) << "\n" << text;
  }
  return makePlan(*model, optionsOf(policy, 1e9));
}

std::string model(const std::string& body) {
  return "graph {\n input %x: float64[2, 3, 8] declared [-1, -1, 8]\n input %z: float64[2, 3, 8] declared [-1, -1, "
         "8]\n const %w: float64[8, 8] random 1\n"
         " const %w2: float64[8, 8] random 2\n const %b: float64[8] random 3\n const %g: float64[8] random 4\n"
         " const %g2: float64[8] random 5\n" +
         body + "}";
}

const std::string kLast = " {axes = [2], eps = 1e-05}\n";

TEST(Soundness, aMeanThatIsReadElsewhereTiesItsInput) {
  // %c reads %x and its mean: centering one of the two reads alone would shift it.
  const Plan plan =
      soundPlan(model(R"(
    %m: float64[2, 3, 1] = Reduce(%x) {op = "mean", axes = [2], keepdim = true}
    %c: float64[2, 3, 8] = Sub(%x, %m)
    %e: float64[2, 3, 1] = Elementwise(%m)
    %n1: float64[2, 3, 8] = LayerNorm(%x, %g, _))" +
                      kLast + " %n2: float64[2, 3, 8] = LayerNorm(%x, %g2, _)" + kLast +
                      " %n3: float64[2, 3, 8] = LayerNorm(%c, %g, _)" + kLast + " return %n1, %n2, %n3, %c, %e\n"),
                Policy::Balanced);
  EXPECT_EQ(plan.folded.size(), 3U);
  EXPECT_EQ(plan.centerings, 1);
}

TEST(Soundness, aPartThatIsZeroMeanAlreadyLosesItsMeanToTheWhole) {
  // The first half is zero-mean as it is. Centering the whole for two norms takes that away from the half's norm.
  const Plan plan = soundPlan(model(R"(
    %a: float64[2, 3, 4] = Slice(%x) {axis = 2, start = 0, end = 4, step = 1}
    %f: float64[2, 3, 4] = LayerNorm(%a, _, _))" +
                                    kLast + R"(
    %e: float64[2, 3, 4] = Elementwise(%a)
    %v: float64[2, 3, 8] = Concat(%f, %e) {axis = 2}
    %s: float64[2, 3, 4] = Slice(%v) {axis = 2, start = 0, end = 4, step = 1}
    %n1: float64[2, 3, 8] = LayerNorm(%v, %g, _))" +
                                    kLast + " %n2: float64[2, 3, 8] = LayerNorm(%v, %g2, _)" + kLast +
                                    " %n3: float64[2, 3, 4] = LayerNorm(%s, _, _)" + kLast + " return %n1, %n2, %n3\n"),
                              Policy::Balanced);
  EXPECT_EQ(plan.centerings, 1);
  EXPECT_EQ(plan.folded.size(), 2U);
}

TEST(Soundness, centeringsOfOneValueGoFromCoarseToFine) {
  const auto text = [](bool partsFirst) {
    const std::string wholes = " %n1: float64[2, 3, 8] = LayerNorm(%v, %g, _)" + kLast +
                               " %n2: float64[2, 3, 8] = LayerNorm(%v, %g2, _)" + kLast;
    const std::string parts = R"( %s1: float64[2, 3, 4] = Slice(%v) {axis = 2, start = 0, end = 4, step = 1}
    %s2: float64[2, 3, 4] = Slice(%v) {axis = 2, start = 0, end = 4, step = 1}
    %m1: float64[2, 3, 4] = LayerNorm(%s1, _, _))" +
                              kLast + " %m2: float64[2, 3, 4] = LayerNorm(%s2, _, _)" + kLast;
    return model(" %v: float64[2, 3, 8] = Elementwise(%x)\n" + (partsFirst ? parts + wholes : wholes + parts) +
                 " return %n1, %n2, %m1, %m2\n");
  };
  for (const bool partsFirst : {false, true}) {
    const Plan plan = soundPlan(text(partsFirst), Policy::Balanced);
    EXPECT_EQ(plan.folded.size(), 4U);
    EXPECT_EQ(plan.centerings, 2);
  }
}

TEST(Soundness, aScaleThatIsAnAddendElsewhere) {
  // %g scales a linear that nobody centers, and is a bias in front of a norm: centering it for both would change %e.
  const Plan plan = soundPlan(model(R"(
    %h: float64[2, 3, 8] = Linear(%x, %w, _)
    %y: float64[2, 3, 8] = Mul(%g, %h)
    %e: float64[2, 3, 8] = Elementwise(%y)
    %k: float64[2, 3, 8] = Linear(%z, %w2, _)
    %s: float64[2, 3, 8] = Add(%k, %g)
    %n: float64[2, 3, 8] = LayerNorm(%s, _, _))" +
                                    kLast + " return %e, %n\n"),
                              Policy::Free);
  EXPECT_EQ(plan.folded.size(), 1U);
}

TEST(Soundness, aScaleOfPositionsIsNotOneOfChannels) {
  // The bias makes the sum larger than the linear's output: the sum's axis 1 is the linear's axis 0.
  soundPlan(R"(graph {
    input %x: float64[8, 8]
    const %w: float64[8, 8] random 1
    const %b: float64[2, 8, 8] random 2
    const %g: float64[8, 1] random 3
    %h: float64[8, 8] = Linear(%x, %w, _)
    %s: float64[2, 8, 8] = Add(%h, %b)
    %y: float64[2, 8, 8] = Mul(%s, %g)
    %n: float64[2, 8, 8] = LayerNorm(%y, _, _))" +
                kLast + " return %n\n}",
            Policy::Free);
  // A linear with a vector for a weight makes no channels at all.
  soundPlan(R"(graph {
    input %x: float64[3, 8, 8]
    const %w: float64[8] random 1
    const %g: float64[8] random 3
    %h: float64[3, 8] = Linear(%x, %w, _)
    %y: float64[3, 8] = Mul(%h, %g)
    %n: float64[3, 8] = LayerNorm(%y, _, _) {axes = [1], eps = 1e-05}
    return %n
  })",
            Policy::Free);
}

TEST(Soundness, nothingIsCenteredInFrontOfAScaleThatStays) {
  const std::string text = model(R"(
    %h: float64[2, 3, 8] = Linear(%x, %w, %b)
    %y: float64[2, 3, 8] = Mul(%h, %g)
    %v: float64[2, 3, 8] = Elementwise(%z)
    %s: float64[2, 3, 8] = Add(%y, %v)
    %n: float64[2, 3, 8] = LayerNorm(%s, _, _))" +
                                 kLast + " return %n\n");
  EXPECT_EQ(soundPlan(text, Policy::All).folded.size(), 1U);
  const Analyzed analyzed(text);
  for (graph::ValueId value = 0; value < static_cast<graph::ValueId>(analyzed.graph().values.size()); ++value) {
    PlanOptions options = optionsOf(Policy::Free);
    options.centerValues = {value};
    EXPECT_LT(analyzed.difference(makePlan(*analyzed, options)), 1e-10) << analyzed.graph().value(value).name;
  }
}

TEST(Soundness, aProductThatWidensTheTypeStays) {
  const Analyzed analyzed(R"(graph {
    input %x: float32[2, 8]
    const %w: float32[8, 8] random 1
    const %g: float64[8] random 2
    %h: float32[2, 8] = Linear(%x, %w, _)
    %y: float64[2, 8] = Mul(%h, %g)
    %n: float64[2, 8] = LayerNorm(%y, _, _) {axes = [1], eps = 1e-05}
    return %n
  })");
  EXPECT_TRUE(std::ranges::none_of(analyzed.plan(Policy::Free).edits, [](const PlannedEdit& planned) {
    return std::holds_alternative<fold::AbsorbScale>(planned.edit);
  }));
}

TEST(Soundness, concatenatedLinearsShareAMeanAtEveryPosition) {
  const auto text = [](const std::string& reader, const std::string& output) {
    return R"(graph {
    input %x: float64[2, 3, 8]
    const %wa: float64[4, 8] random 1
    const %wb: float64[6, 8] random 2
    const %ba: float64[4] random 3
    const %bb: float64[6] random 4
    %a: float64[2, 3, 4] = Linear(%x, %wa, %ba)
    %b: float64[2, 3, 6] = Linear(%x, %wb, %bb)
    %c: float64[2, 3, 10] = Concat(%a, %b) {axis = 2}
    %first: float64[2, 1, 10] = Slice(%c) {axis = 1, start = 0, step = 1}
    %n: float64[2, 1, 10] = LayerNorm(%first, _, _))" +
           kLast + reader + " return %n" + output + "\n}";
  };
  EXPECT_EQ(soundPlan(text("", ""), Policy::Free).folded.size(), 1U);
  const std::string rest =
      " %rest: float64[2, 2, 10] = Slice(%c) {axis = 1, start = 1, step = 1}\n %e: float64[2, 2, 10] = "
      "Elementwise(%rest)\n";
  EXPECT_EQ(soundPlan(text(rest, ", %e"), Policy::Free).folded.size(), 0U);
}

// The first T rows of a table of positions are another part of it at another T: the whole table has to be centered.
TEST(Soundness, aPartThatMovesWithTheInputIsNotCenteredAlone) {
  const auto positions = [](int64_t tokens, const std::string& reads) {
    const std::string t = std::to_string(tokens);
    return "graph {\n input %x: float64[2, " + t +
           ", 8]\n const %p: float64[7, 8] random 1\n const %w: float64[8, 8] random 2\n" + " %h: float64[2, " + t +
           ", 8] = Linear(%x, %w, _)\n %r: float64[" + t + ", 8] = Slice(%p) {axis = 0, start = 0, step = 1}\n" +
           " %s: float64[2, " + t + ", 8] = Add(%h, %r)\n %n: float64[2, " + t + ", 8] = LayerNorm(%s, _, _)" + kLast +
           reads + "}";
  };
  // Reading the last row keeps that row as it is, so that the norm's table becomes a copy.
  const std::string last =
      " %l: float64[8] = Select(%p) {axis = 0, index = 6}\n %e: float64[8] = Elementwise(%l)\n return %n, %e\n";
  for (const std::string& reads : {std::string(" return %n\n"), last}) {
    const Analyzed small(positions(3, reads));
    const Plan plan = small.plan(Policy::Free);
    EXPECT_EQ(plan.folded.size(), 1U);
    EXPECT_LT(differenceOf(parsed(positions(6, reads)), small.norms(), plan), 1e-10);
  }
}

TEST(Soundness, growthLimitHoldsForTinyTensorsBehindLargeActivations) {
  // A copy of 64 bytes would fold a norm over 3,200,000 elements; a limit of nothing forbids it all the same.
  const Analyzed analyzed(R"(graph {
    input %x: float64[2, 200000, 8]
    const %b: float64[8] random 3
    const %w: float64[8, 8] random 1
    %h: float64[2, 200000, 8] = Linear(%x, %w, %b)
    %n: float64[2, 200000, 8] = LayerNorm(%h, _, _))" +
                          kLast + " return %n, %b\n}");
  for (const double percent : {0.0, 1.0, 5.0}) {
    const Plan plan = makePlan(*analyzed, optionsOf(Policy::Balanced, percent));
    EXPECT_EQ(plan.bytesGrown, 0) << percent;
    EXPECT_EQ(plan.gap > 0, percent > 0) << percent;  // nothing can be copied in 0 bytes: proved
  }
  EXPECT_EQ(makePlan(*analyzed, optionsOf(Policy::Balanced, 20)).folded.size(), 1U);
}

TEST(Soundness, aWrittenOutNormWithAScaledEpsilonIsNone) {
  const auto norms = [](const std::string& alpha) {
    return findNorms(parsed(R"(graph {
    input %x: float64[2, 8]
    %m: float64[2, 1] = Reduce(%x) {op = "mean", axes = [1], keepdim = true}
    %c: float64[2, 8] = Sub(%x, %m)
    %q: float64[2, 8] = Mul(%c, %c)
    %v: float64[2, 1] = Reduce(%q) {op = "mean", axes = [1], keepdim = true}
    %e: float64[2, 1] = Add(%v, 1e-05))" +
                            alpha + R"(
    %r: float64[2, 1] = Elementwise(%e) function InverseSquareRoot
    %y: float64[2, 8] = Mul(%c, %r)
    return %y
  })"))
        .layerNorms.size();
  };
  EXPECT_EQ(norms(""), 1U);
  EXPECT_EQ(norms(" {alpha = 2.0}"), 0U);
}

// So many slots as another input has: the plan of one run, in a run of more of them.
TEST(Soundness, aCutThatOnlyARunKnowsIsNotCenteredAlone) {
  const auto model = [](int64_t slots, bool splits) {
    const std::string n = std::to_string(slots), rest = std::to_string(8 - slots);
    const std::string cut =
        splits ? " %a: float64[2, " + n + ", 8], %s: float64[2, " + rest + ", 8] = Split(%r) {axis = 1}\n"
               : " %s: float64[2, " + n + ", 8] = Slice(%r) {axis = 1, start = 0, step = 1}\n";
    return std::string(
        "graph {\n input %x: float64[2, 6]\n const %w: float64[64, 6] random 1\n"
        " %h: float64[2, 64] = Linear(%x, %w, _)\n %r: float64[2, 8, 8] = Reshape(%h)\n" +
        cut + " %n: float64[2, " + (splits ? rest : n) + ", 8] = LayerNorm(%s, _, _)" + kLast + " return %n\n}");
  };
  for (const bool splits : {false, true}) {
    const Analyzed probed(model(splits ? 5 : 3, splits));
    const Plan plan = probed.plan(Policy::Free);
    EXPECT_EQ(plan.folded.size(), 1U);
    EXPECT_LT(differenceOf(parsed(model(splits ? 3 : 5, splits)), probed.norms(), plan), 1e-10);
  }
}

TEST(Soundness, whatABatchNormAddsIsNotMultipliedByBeta) {
  for (const char* beta : {"", " {beta = 0.5}"}) {
    const Plan plan = soundPlan(std::string(R"(graph {
    input %x: float64[3, 5]
    const %w: float64[5, 8] random 1
    const %c: float64[8] random 2
    const %g: float64[8] random 3
    const %b: float64[8] random 4
    const %m: float64[8] random 5
    const %v: float64[8] values <1, 2, 3, 4, 5, 6, 7, 8>
    %h: float64[3, 8] = AddMatMul(%c, %x, %w))") +
                                    beta + R"(
    %y: float64[3, 8] = BatchNorm(%h, %g, %b, %m, %v) {eps = 1e-05}
    %n: float64[3, 8] = LayerNorm(%y, _, _) {axes = [1], eps = 1e-05}
    return %n
  })",
                                Policy::Free);
    EXPECT_EQ(plan.folded.size(), 1U) << beta;
  }
}

}  // namespace
}  // namespace normlens::analysis
