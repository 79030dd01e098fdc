// What each norm's verdict is, and what is told of what blocks it.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "core/analysis/explain.h"
#include "tests/analysis/analyzed.h"
#include "tests/support/must.h"

namespace normlens::analysis {
namespace {

using Verdicts = std::vector<Verdict>;
using enum Verdict;

Verdicts verdictsOf(const std::string& text) {
  const Analyzed model(text);
  Verdicts out;
  for (const auto& verdict : model->verdicts) {
    EXPECT_FALSE(verdict.reason.empty());
    out.push_back(verdict.verdict);
  }
  return out;
}

TEST(Verdicts, linearBeforeNormIsFree) {
  EXPECT_EQ(verdictsOf(R"(graph {
    input %x: float32[2, 5, 8]
    const %w: float32[8, 8] random 1
    const %b: float32[8] random 2
    const %g: float32[8] random 3
    %h: float32[2, 5, 8] = Linear(%x, %w, %b)
    %y: float32[2, 5, 8] = LayerNorm(%h, %g, _) {axes = [2], eps = 1e-05}
    return %y
  })"),
            Verdicts{Free});
}

TEST(Verdicts, aTableOfFewerBitsThanItsReaderIsBlocked) {
  for (const auto& [type, verdict] : {std::pair{"float16", Blocked}, {"float32", Free}}) {
    std::string text = R"(graph {
    input %x: float32[2, 5, 8]
    const %w: float32[8, 8] random 1
    const %t: TYPE[7, 8] random 2
    %h: float32[2, 5, 8] = Linear(%x, %w, _)
    %p: TYPE[5, 8] = Slice(%t) {axis = 0, start = 0, end = 5, step = 1}
    %s: float32[2, 5, 8] = Add(%h, %p)
    %y: float32[2, 5, 8] = LayerNorm(%s, _, _) {axes = [2], eps = 1e-05}
    return %y
  })";
    for (size_t at = text.find("TYPE"); at != std::string::npos; at = text.find("TYPE")) text.replace(at, 4, type);
    EXPECT_EQ(verdictsOf(text), Verdicts{verdict}) << type;
  }
}

TEST(Verdicts, inputThatIsReturnedIsBlocked) {
  EXPECT_EQ(verdictsOf(R"(graph {
    input %x: float32[2, 5, 8]
    const %w: float32[8, 8] random 1
    %h: float32[2, 5, 8] = Linear(%x, %w, _)
    %y: float32[2, 5, 8] = LayerNorm(%h, _, _) {axes = [2], eps = 1e-05}
    return %y, %h
  })"),
            Verdicts{Blocked});
}

std::optional<Blocker> blockerOfLast(const std::string& text) { return Analyzed(text)->verdicts.back().blocker; }

// %g of the norm before is the reason only where that norm takes its mean over the same channels.
TEST(Verdicts, theBlockerIsToldWithItsReason) {
  const auto chain = [](const std::string& between) {
    return R"(graph {
      input %x: float32[2, 5, 8]
      const %w: float32[8, 8] random 1
      const %g: float32[8] random 2
      const %h: float32[8] random 3
      %a: float32[2, 5, 8] = Linear(%x, %w, _)
      %n: float32[2, 5, 8] = LayerNorm(%a, %g, _) {axes = [2], eps = 1e-05}
      )" + between +
           R"(
      %z: float32[2, 5, 8] = LayerNorm(%y, %h, _) {axes = [2], eps = 1e-05}
      return %z
    })";
  };
  const auto gamma = must(blockerOfLast(chain("%y: float32[2, 5, 8] = Add(%n, %a)")));
  EXPECT_EQ(gamma.reason, "\xCE\xB3 varies");
  EXPECT_NE(gamma.gamma, graph::kNoValue);
  const auto bent = must(blockerOfLast(chain("%y: float32[2, 5, 8] = Elementwise(%n)")));
  EXPECT_EQ(bent.gamma, graph::kNoValue);
  EXPECT_NE(bent.reason, "");
  const auto returned = must(blockerOfLast(R"(graph {
    input %x: float32[2, 5, 8]
    const %w: float32[8, 8] random 1
    %h: float32[2, 5, 8] = Linear(%x, %w, _)
    %y: float32[2, 5, 8] = LayerNorm(%h, _, _) {axes = [2], eps = 1e-05}
    return %y, %h
  })"));
  EXPECT_EQ(returned.reason, "centering it would change a model output");
}

TEST(Verdicts, whatNoRunHasShownIsUnknownAndNotBlocked) {
  const auto verdictOf = [](const std::string& type, const std::string& more = "") {
    return Analyzed("graph {\n input %x: float32[2, 8]\n const %w: float32[8, 8] random 1\n %h: " + type +
                    " = Linear(%x, %w, _)\n %y: float32" + more +
                    " = LayerNorm(%h, _, _) {eps = 1e-05, axes = [1]}\n return %y" + more.substr(0, more.find(':')) +
                    "\n}")
        ->verdicts.at(0);
  };
  EXPECT_EQ(verdictOf("float32[2, 8]").verdict, Free);
  const NormVerdict unshown = verdictOf("float32");
  EXPECT_EQ(unshown.verdict, Unknown);
  EXPECT_EQ(unshown.reason, "The model was not run, so the shape of its input is not known.");
  EXPECT_EQ(verdictOf("float32", ", %mean: float32").verdict, Blocked) << "whatever the shapes are";

  const Analyzed model(R"(graph {
    input %x: float32[2, 8]
    const %w: float32[8, 8] random 1
    %h: float32 = Linear(%x, %w, _)
    %y: float32 = LayerNorm(%h, _, _) {eps = 1e-05, axes = [1]}
    return %y
  })");
  const std::string told = previewCentering(*model, model.graph().nodes.front().outputs.front()).reason;
  EXPECT_TRUE(told.starts_with("No LayerNorm is known to depend")) << told;
}

// One branch was not run: what is added behind it may still block the norm, whatever the branch does.
TEST(Verdicts, aBranchThatNoRunTookLeavesAVerdictOpenWhereNothingElseDecidesIt) {
  const auto model = [](const std::string& other) {
    return R"(graph {
    input %x: float32[2, 8]
    input %c: bool[]
    input %n: int64
    const %w: float32[8, 8] random 1
    %h: float32[2, 8] = If(%c)
    block () {
      %p: float32[2, 8] = Linear(%x, %w, _)
      return %p
    }
    block () {
      %q: float32 = Linear(%x, %w, _)
      return %q
    }
    %b: float32[2, 8] = )" +
           other + R"(
    %s: float32[2, 8] = Add(%h, %b)
    %y: float32[2, 8] = LayerNorm(%s, _, _) {axes = [1], eps = 1e-05}
    return %y
  })";
  };
  EXPECT_EQ(verdictsOf(model("Linear(%x, %w, _)")), Verdicts{Unknown});
  EXPECT_EQ(verdictsOf(model("Elementwise(%x)")), Verdicts{Blocked});
  EXPECT_EQ(verdictsOf(model("Add(%x, %n)")), Verdicts{Blocked}) << "a number has no shape in any run";
}

// The bias's mean is the same at all positions, which a norm behind a linear that reads it does not tolerate.
TEST(Verdicts, theFirstReaderThatNoticesIsTold) {
  const auto blocker = must(blockerOfLast(R"(graph {
    input %x: float32[2, 5, 8]
    const %b: float32[8] random 1
    const %u: float32[8, 8] random 2
    const %w: float32[8, 8] random 3
    %m: float32[2, 5, 8] = MatMul(%x, %w)
    %h: float32[2, 5, 8] = Add(%m, %b)
    %k: float32[2, 5, 8] = MatMul(%h, %u) name "inner"
    %s: float32[2, 5, 8] = Add(%h, %k)
    %y: float32[2, 5, 8] = LayerNorm(%s, _, _) {axes = [2], eps = 1e-05}
    return %y
  })"));
  EXPECT_NE(blocker.reason.find("MatMul"), std::string::npos) << blocker.reason;
  const auto patches = must(blockerOfLast(R"(graph {
    input %x: float32[2, 4, 8]
    const %w: float32[8, 8] random 3
    %h: float32[2, 4, 8] = MatMul(%x, %w)
    %a: float32[2, 2, 8] = Slice(%h) {axis = 1, start = 0, end = 2, step = 1}
    %b: float32[2, 2, 8] = Slice(%h) {axis = 1, start = 2, end = 4, step = 1}
    %s: float32[2, 2, 16] = Concat(%a, %b) {axis = 2} name "patches"
    %y: float32[2, 2, 16] = LayerNorm(%s, _, _) {axes = [2], eps = 1e-05}
    return %y
  })"));
  EXPECT_EQ(patches.reason, "centering it would change patches (Concat)");
}

// A pre-norm block whose stream starts at `start`: two norms on the stream, one linear adds to it.
std::string preNorm(const std::string& start, const std::string& extra = "") {
  return "graph {\n input %x: float32[2, 5, 8]\n input %ids: int64[2, 5]\n const %table: float32[11, 8] random 9\n"
         " const %w: float32[8, 8] random 1\n const %b: float32[8] random 2\n const %g: float32[8] random 3\n" +
         start +
         R"( %n1: float32[2, 5, 8] = LayerNorm(%s, %g, %b) {axes = [2], eps = 1e-05}
    %f: float32[2, 5, 8] = Linear(%n1, %w, %b)
    %r: float32[2, 5, 8] = Add(%s, %f)
    %n2: float32[2, 5, 8] = LayerNorm(%r, %g, %b) {axes = [2], eps = 1e-05}
)" + extra +
         "    return %n2\n}";
}

TEST(Verdicts, aWeightWithoutAMeanBlocksWhatNeedsItAndNothingElse) {
  graph::Graph graph = parsed(R"(graph {
    input %x: float32[2, 5, 8]
    const %w: float32[8, 8] random 1
    const %v: float32[8, 8] random 2
    %h: float32[2, 5, 8] = Linear(%x, %w, _)
    %i: float32[2, 5, 8] = Linear(%x, %v, _)
    %y: float32[2, 5, 8] = LayerNorm(%h, _, _) {axes = [2], eps = 1e-05}
    %z: float32[2, 5, 8] = LayerNorm(%i, _, _) {axes = [2], eps = 1e-05}
    return %y, %z
  })");
  const float strange = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(const_cast<std::byte*>(graph.constant(0).view.data) + 12 * sizeof(float), &strange, sizeof strange);
  const auto analysis = must(analyze(graph, Task{}));
  EXPECT_EQ(analysis->verdicts[0].verdict, Blocked);
  EXPECT_EQ(analysis->verdicts[0].reason,
            "Its input comes from w, which cannot be centered: it holds infinite or NaN values, which have no mean.");
  EXPECT_EQ(analysis->verdicts[1].verdict, Free);
  EXPECT_EQ(makePlan(*analysis, PlanOptions{}).folded, std::vector<int>{1});
}

TEST(Verdicts, streamFromATableIsFree) {
  EXPECT_EQ(verdictsOf(preNorm(" %s: float32[2, 5, 8] = Gather(%table, %ids) {axis = 0}\n")), (Verdicts{Free, Free}));
}

TEST(Verdicts, streamFromTheInputNeedsOneCenteringForBoth) {
  EXPECT_EQ(verdictsOf(preNorm(" %s: float32[2, 5, 8] = Identity(%x)\n")), (Verdicts{WithCentering, WithCentering}));
}

TEST(Verdicts, streamAfterAnActivationNeedsOneCentering) {
  EXPECT_EQ(verdictsOf(preNorm(" %s: float32[2, 5, 8] = Elementwise(%x)\n")), (Verdicts{WithCentering, WithCentering}));
}

TEST(Verdicts, normOfSeveralHeadsOfOneLinear) {
  const auto model = [](const std::string& other, const std::string& parts = ", divides = true") {
    return R"(graph {
    input %x: float32[2, 5, 8]
    const %w: float32[24, 8] random 1
    %qkv: float32[2, 5, 24] = Linear(%x, %w, _)
    %q: float32[2, 5, 8], %k: float32[2, 5, 8], %v: float32[2, 5, 8] = Split(%qkv) {axis = 2)" +
           parts + R"(}
    %heads: float32[2, 5, 2, 4] = Reshape(%q)
    %n: float32[2, 5, 2, 4] = LayerNorm(%heads, _, _) {axes = [3], eps = 1e-05}
)" + other +
           "    return %n, %k, %v\n}";
  };
  // q's rows are centered head by head; k and v are other rows of the same weight and stay.
  EXPECT_EQ(verdictsOf(model("")), Verdicts{Free});
  EXPECT_EQ(verdictsOf(model("    %leak: float32[2, 5, 8] = Elementwise(%q)\n")), Verdicts{Blocked});
  EXPECT_EQ(verdictsOf(model("", ", sizes = [8, 8, 8]")), Verdicts{Free});
  EXPECT_NE(verdictsOf(model("", "")), Verdicts{Free}) << "another run may cut it at other places";
}

TEST(Verdicts, constantGammaLetsANormFeedANorm) {
  const auto chain = [](const std::string& gamma) {
    return "graph {\n input %x: float32[2, 8]\n const %w: float32[8, 8] random 1\n const %b: float32[8] random 4\n "
           "const %g: float32[8] " +
           gamma +
           R"(
    %h: float32[2, 8] = Linear(%x, %w, _)
    %n1: float32[2, 8] = LayerNorm(%h, %g, %b) {axes = [1], eps = 1e-05}
    %n2: float32[2, 8] = LayerNorm(%n1, _, _) {axes = [1], eps = 1e-05}
    return %n2
  })";
  };
  EXPECT_EQ(verdictsOf(chain("values <2, 2, 2, 2, 2, 2, 2, 2>")), (Verdicts{Free, Free}));
  EXPECT_EQ(verdictsOf(chain("values <2, 2, 2, 2, 2, 2, 2, 3>")), (Verdicts{Free, Blocked}));
}

TEST(Verdicts, depthwiseConvolutionIsBlocked) {
  const auto conv = [](const std::string& weight, int groups) {
    return "graph {\n input %x: float32[2, 8, 6, 6]\n const %w: float32" + weight + " random 1\n" +
           R"( %c: float32[2, 8, 6, 6] = Conv(%x, %w, _) {groups = )" + std::to_string(groups) + R"(}
    %p: float32[2, 6, 6, 8] = Permute(%c) {perm = [0, 2, 3, 1]}
    %n: float32[2, 6, 6, 8] = LayerNorm(%p, _, _) {axes = [3], eps = 1e-05}
    return %n
  })";
  };
  EXPECT_EQ(verdictsOf(conv("[8, 8, 3, 3]", 1)), Verdicts{Free});
  EXPECT_EQ(verdictsOf(conv("[8, 1, 3, 3]", 8)), Verdicts{Blocked});
}

TEST(Verdicts, layerScaleIsAbsorbed) {
  EXPECT_EQ(verdictsOf(R"(graph {
    input %x: float32[2, 5, 8]
    const %w: float32[8, 8] random 1
    const %b: float32[8] random 2
    const %scale: float32[8] random 3
    %h: float32[2, 5, 8] = Linear(%x, %w, %b)
    %s: float32[2, 5, 8] = Mul(%scale, %h)
    %n: float32[2, 5, 8] = LayerNorm(%s, _, _) {axes = [2], eps = 1e-05}
    return %n
  })"),
            Verdicts{Free});
}

TEST(Verdicts, decomposedNorm) {
  const std::string norm = R"(
    %mean: float32[2, 5, 1] = Reduce(%h) {op = "mean", axes = [2], keepdim = true}
    %c: float32[2, 5, 8] = Sub(%h, %mean)
    %sq: float32[2, 5, 8] = Elementwise(%c, 2) function Power
    %var: float32[2, 5, 1] = Reduce(%sq) {op = "mean", axes = [2], keepdim = true}
    %e: float32[2, 5, 1] = Add(%var, 1e-05)
    %root: float32[2, 5, 1] = Elementwise(%e) function SquareRoot
    %y: float32[2, 5, 8] = Div(%c, %root)
    return %y
  })";
  EXPECT_EQ(verdictsOf("graph { input %x: float32[2, 5, 8]\n const %w: float32[8, 8] random 1\n"
                       "%h: float32[2, 5, 8] = Linear(%x, %w, _)\n" +
                       norm),
            Verdicts{Free});
  EXPECT_EQ(verdictsOf("graph { input %x: float32[2, 5, 8]\n %h: float32[2, 5, 8] = Elementwise(%x)\n" + norm),
            Verdicts{Blocked});
}

TEST(Verdicts, concatenatedLinearsOfOneInputShareAMean) {
  const auto model = [](const std::string& second) {
    return R"(graph {
    input %x: float32[2, 5, 8]
    input %z: float32[2, 5, 8]
    const %wa: float32[4, 8] random 1
    const %wb: float32[6, 8] random 2
    %a: float32[2, 5, 4] = Linear(%x, %wa, _)
    %b: float32[2, 5, 6] = Linear()" +
           second + R"(, %wb, _)
    %c: float32[2, 5, 10] = Concat(%a, %b) {axis = 2}
    %n: float32[2, 5, 10] = LayerNorm(%c, _, _) {axes = [2], eps = 1e-05}
    return %n
  })";
  };
  EXPECT_EQ(verdictsOf(model("%x")), Verdicts{Free});
  EXPECT_EQ(verdictsOf(model("%z")), Verdicts{Blocked});
}

TEST(Verdicts, loopIsAFixpoint) {
  const auto model = [](const std::string& body) {
    return R"(graph {
    input %x: float32[2, 8]
    input %n: int64[]
    const %w: float32[8, 8] random 1
    %h: float32[2, 8] = Linear(%x, %w, _)
    %s: float32[2, 8] = Loop(%n, 1, %h)
    block (%i: int64[], %c: float32[2, 8]) {
      %norm: float32[2, 8] = LayerNorm(%c, _, _) {axes = [1], eps = 1e-05}
)" + body + R"(      return 1, %r
    }
    %last: float32[2, 8] = LayerNorm(%s, _, _) {axes = [1], eps = 1e-05}
    return %last
  })";
  };
  EXPECT_EQ(verdictsOf(model("      %r: float32[2, 8] = Add(%c, %norm)\n")), (Verdicts{Free, Free}));
  EXPECT_EQ(verdictsOf(model("      %r: float32[2, 8] = Elementwise(%c)\n")), (Verdicts{Blocked, Blocked}));
}

TEST(Verdicts, aVolatileWeightIsNoConstant) {
  EXPECT_EQ(verdictsOf(R"(graph {
    input %x: float32[2, 8]
    const %w: float32[8, 8] random 1 volatile "a caller can override it"
    %h: float32[2, 8] = Linear(%x, %w, _)
    %y: float32[2, 8] = LayerNorm(%h, _, _) {axes = [1], eps = 1e-05}
    return %y
  })"),
            Verdicts{Blocked});
}

TEST(Verdicts, aGroupThatOnlyARunKnowsIsBlocked) {
  const auto model = [](const std::string& reshape, const std::string& norm) {
    return R"(graph {
    input %x: float32[2, 6]
    const %w: float32[64, 6] random 1
    const %g: float32[16] random 2
    %h: float32[2, 64] = Linear(%x, %w, _)
    %r: float32[2, 4, 16] = Reshape(%h) )" +
           reshape + "\n    %y: float32[2, 4, 16] = LayerNorm(%r, " + norm + "eps = 1e-05}\n    return %y\n}";
  };
  EXPECT_EQ(verdictsOf(model("{computed = [1, 2]}", "_, _) {axes = [2], ")), Verdicts{Blocked});
  EXPECT_EQ(verdictsOf(model("{computed = [1, 2]}", "%g, _) {axes = [2], ")), Verdicts{Free});
  EXPECT_EQ(verdictsOf(model("{computed = [1, 2]}", "_, _) {axes = [2], normalized_shape = [16], ")), Verdicts{Free});
  EXPECT_EQ(verdictsOf(model("{}", "_, _) {axes = [2], ")), Verdicts{Free});
}

TEST(Verdicts, anImageOfOnePositionByChance) {
  const auto model = [](const std::string& sizes) {
    return R"(graph {
    input %x: float32[2, 3, 4, 4]
    const %w: float32[8, 3, 4, 4] random 1
    %h: float32[2, 8, 1, 1] = Conv(%x, %w, _) {groups = 1}
    %y: float32[2, 8, 1, 1] = LayerNorm(%h, _, _) {axes = [1, 2, 3], eps = 1e-05)" +
           sizes + "}\n    return %y\n}";
  };
  EXPECT_EQ(verdictsOf(model("")), Verdicts{Blocked});
  EXPECT_EQ(verdictsOf(model(", ones = [2, 3]")), Verdicts{Free});
  EXPECT_EQ(verdictsOf(model(", normalized_shape = [8, 1, 1]")), Verdicts{Free});
}

TEST(Verdicts, branchesAndPassesOfDifferentSizesHandNoShiftOn) {
  const Verdicts branches = verdictsOf(R"(graph {
    input %x: float32[2, 5, 8]
    input %c: bool[]
    const %w: float32[8, 8] random 1
    %h: float32[2, 5, 8] = Linear(%x, %w, _)
    %y: float32[2, 1, 8] = If(%c)
    block () {
      %s: float32[2, 1, 8] = Slice(%h) {axis = 1, start = 4, step = 1}
      return %s
    }
    block () {
      return %h
    }
    %n1: float32[2, 5, 8] = LayerNorm(%h, _, _) {axes = [2], eps = 1e-05}
    %n2: float32[2, 1, 8] = LayerNorm(%y, _, _) {axes = [2], eps = 1e-05}
    return %n1, %n2
  })");
  ASSERT_EQ(branches.size(), 2U);
  EXPECT_NE(branches[0], Free);
  EXPECT_NE(branches[1], Free);
  EXPECT_EQ(verdictsOf(R"(graph {
    input %x: float32[2, 1, 8]
    input %c: bool[]
    const %w: float32[8, 8] random 1
    %h: float32[2, 1, 8] = Linear(%x, %w, _)
    %o: float32[2, 2, 8] = Loop(1, %c, %h)
    block (%it: int64[], %p: float32[2, 1, 8]) {
      %n1: float32[2, 1, 8] = LayerNorm(%p, _, _) {axes = [2], eps = 1e-05}
      %l: float32[2, 1, 8] = Linear(%n1, %w, _)
      %n3: float32[2, 1, 8] = LayerNorm(%l, _, _) {axes = [2], eps = 1e-05}
      %q: float32[2, 2, 8] = Concat(%p, %l) {axis = 1}
      return %c, %q
    }
    return %o
  })")
                .size(),
            2U);
}

// What the papers' criterion takes for a general linear layer and its bias, however a format writes it.

// Of a norm of %h, which the body makes out of %x, %z and constants.
PaperVerdict verdictOf(const std::string& body) {
  const Analyzed model(R"(graph {
    input %x: float64[2, 5, 8]
    input %z: float64[8]
    const %w: float64[8, 8] random 1
    const %b: float64[8] random 2
    const %row: float64[1, 1, 8] random 3
    const %positions: float64[5, 8] random 4
    )" + body + R"(
    %n: float64[2, 5, 8] = LayerNorm(%h, _, _) {axes = [2], eps = 1e-05}
    return %n
  })");
  return model->paper.verdicts.at(0);
}

TEST(PaperCriteria, aConstantAddendBehindALinearIsItsBias) {
  for (const char* body : {"%h: float64[2, 5, 8] = Linear(%x, %w, %b)",
                           "%m: float64[2, 5, 8] = MatMul(%x, %w)\n%h: float64[2, 5, 8] = Add(%m, %b)",
                           "%m: float64[2, 5, 8] = MatMul(%x, %w)\n%h: float64[2, 5, 8] = Add(%b, %m)",
                           "%m: float64[2, 5, 8] = MatMul(%x, %w)\n%h: float64[2, 5, 8] = Add(%m, %row)",
                           "%m: float64[2, 5, 8] = Linear(%x, %w, _)\n%h: float64[2, 5, 8] = Add(%m, %b)",
                           "%t: float64[8, 8] = Permute(%w) {perm = [1, 0]}\n%m: float64[2, 5, 8] = MatMul(%x, %t)\n"
                           "%h: float64[2, 5, 8] = Add(%m, %b)"}) {
    EXPECT_TRUE(verdictOf(body).paper) << body;
  }
}

TEST(PaperCriteria, anyOtherAddendIsNoBias) {
  for (const char* body : {"%m: float64[2, 5, 8] = MatMul(%x, %w)\n%h: float64[2, 5, 8] = Add(%m, %z)",
                           "%m: float64[2, 5, 8] = MatMul(%x, %w)\n%h: float64[2, 5, 8] = Add(%m, %positions)",
                           "%h: float64[2, 5, 8] = Add(%x, %b)"}) {
    EXPECT_FALSE(verdictOf(body).paper) << body;
  }
}

// The file is as torch.onnx writes it: the product's weight has lost its name.
TEST(Verdicts, aWeightWithoutAModuleIsCalledByTheOneThatReadsIt) {
  const Analyzed model(R"(graph {
    input %x: float64[2, 5, 8]
    const %MatMul_531: float64[8, 8] random 1
    const %output.bias: float64[8] random 2
    %h: float64[2, 5, 8] = Linear(%x, %MatMul_531, %output.bias) scope "layer.output"
    %n: float64[2, 5, 8] = LayerNorm(%h, _, _) {axes = [2], eps = 1e-05}
    return %n
  })");
  std::vector<std::string> subjects;
  for (const auto& planned : makePlan(*model, {}).edits)
    subjects.push_back(describeEdit(model.graph(), model.norms(), planned).subject);
  EXPECT_EQ(subjects.front(), "layer.output (MatMul_531)");
  EXPECT_NE(std::ranges::find(subjects, "output.bias"), subjects.end());
}

}  // namespace
}  // namespace normlens::analysis
