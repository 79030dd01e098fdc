#include <gtest/gtest.h>

#include "core/service/describe/describe.h"
#include "tests/support/graph_text.h"

namespace normlens::service {
namespace {

protocol::Analysis described(const std::string& text, const std::string& probeError) {
  const auto graph = graph::parseGraph(text).value();
  return describeAnalysis(graph, **analysis::analyze(graph, {}), {}, probeError);
}

TEST(Describe, ThatThereIsNoLayerNormIsOnlySaidWhereShapesAreKnown) {
  const std::string relu = "graph {\n  input %x: float32[2, 8]\n  %y: float32[2, 8] = Elementwise(%x)\n  return %y\n}";
  EXPECT_EQ(described(relu, "").note, "There is no LayerNorm in this model.");
  const auto unknown = described(relu, "no kernel for Odd");
  EXPECT_EQ(unknown.probe_error, "no kernel for Odd");
  EXPECT_NE(unknown.note.find("may be missed"), std::string::npos) << unknown.note;
}

TEST(Describe, NormsThatAreFoundNeedNoNote) {
  const auto analysis = described(R"(graph {
    input %x: float32[2, 8]
    %n: float32[2, 8] = LayerNorm(%x, _, _) {axes = [1], eps = 1e-05} op "aten::layer_norm"
    return %n
  })",
                                  "it did not run");
  EXPECT_EQ(analysis.note, "");
  EXPECT_EQ(analysis.totals.layer_norms, 1);
}

TEST(Describe, UnknownNormsAreCountedForThemselves) {
  const auto analysis = described(R"(graph {
    input %x: float32[2, 8]
    %h: float32 = Elementwise(%x)
    %n: float32 = LayerNorm(%h, _, _) {eps = 1e-05}
    return %n
  })",
                                  "it did not run");
  EXPECT_EQ(analysis.norms.at(0).verdict, "unknown");
  EXPECT_EQ(analysis.totals.blocked, 0);
  EXPECT_EQ(inWords(analysis.totals), "1 LayerNorm, 0 free, 0 with centering, 0 blocked, 1 unknown");
}

// As the Annotated Transformer and others write them.
TEST(Describe, NormsByAnotherFormulaAreNamedWithWhatHinders) {
  const auto kindOf = [](const std::string& spread, const std::string& shape = "[2, 8]") {
    const auto analysis = described(R"(graph {
      input %x: float32[2, 8]
      const %g: float32[8] random 1
      %m: float32[2, 1] = Reduce(%x) {op = "mean", axes = [1], keepdim = true}
      %c: float32[2, 8] = Sub(%x, %m)
      %s: float32[2, 8] = Mul(%g, %c)
      )" + spread + R"(
      %n: float32)" + shape + R"( = Div(%s, %d)
      return %n
    })",
                                    "");
    EXPECT_EQ(analysis.totals.layer_norms, 0);
    return analysis.other_norms.empty() ? std::string() : analysis.other_norms[0].kind;
  };
  const std::string unbiased =
      R"(%v: float32[2, 1] = Reduce(%x) {op = "std", axes = [1], keepdim = true, unbiased = true}
      %d: float32[2, 1] = Add(%v, 1e-06))";
  EXPECT_EQ(kindOf(unbiased),
            "a LayerNorm by another formula, kept: what it divides by is not the root of a LayerNorm's variance plus "
            "eps, though its mean could be dropped exactly");
  EXPECT_EQ(kindOf(R"(%q: float32[2, 8] = Mul(%c, %c)
      %d: float32[1, 1] = Reduce(%q) {op = "mean", axes = [0, 1], keepdim = true})"),
            kindOf(unbiased));
  EXPECT_EQ(kindOf("%d: float32[2, 1] = Elementwise(%m)"), "");
  EXPECT_EQ(kindOf(unbiased, ""), "");  // without shapes it may be a LayerNorm that is not seen
}

}  // namespace
}  // namespace normlens::service
