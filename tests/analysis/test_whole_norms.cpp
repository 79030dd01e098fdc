// Norms with what stands behind them, and which of those that are written out could be one op.
#include <gtest/gtest.h>

#include "core/analysis/norms/whole_norm.h"
#include "tests/support/graph_text.h"
#include "tests/support/must.h"

namespace normlens::analysis {
namespace {

graph::Graph written(const std::string& body, const std::string& type = "float32") {
  const std::string text = "graph {\n  input %x: float32[2, 5, 8]\n  const %g: " + type +
                           "[8] random 1\n  const %b: " + type + "[8] random 2\n" + body + "}";
  return graph::parsed(text);
}

const std::string kRms = R"(  %q: float32[2, 5, 8] = Mul(%x, %x)
  %m: float32[2, 5, 1] = Reduce(%q) {op = "mean", axes = [2], keepdim = true}
  %e: float32[2, 5, 1] = Add(%m, 1e-05)
  %r: float32[2, 5, 1] = Elementwise(%e) function SquareRoot
  %n: float32[2, 5, 8] = Div(%x, %r)
  %s: float32[2, 5, 8] = Mul(%n, %g)
  %y: float32[2, 5, 8] = Add(%s, %b)
)";

const std::string kLayer = R"(  %m: float32[2, 5, 1] = Reduce(%x) {op = "mean", axes = [2], keepdim = true}
  %c: float32[2, 5, 8] = Sub(%x, %m)
  %q: float32[2, 5, 8] = Mul(%c, %c)
  %v: float32[2, 5, 1] = Reduce(%q) {op = "mean", axes = [2], keepdim = true}
  %e: float32[2, 5, 1] = Add(%v, 1e-05)
  %r: float32[2, 5, 1] = Elementwise(%e) function SquareRoot
  %n: float32[2, 5, 8] = Div(%c, %r)
  %s: float32[2, 5, 8] = Mul(%n, %g)
  %y: float32[2, 5, 8] = Add(%b, %s)
)";

std::vector<JoinableNorm> joinable(const graph::Graph& graph, bool rmsWithBeta = true) {
  return joinableNorms(graph, findNorms(graph), rmsWithBeta);
}

std::string outputOf(const graph::Graph& graph, const JoinableNorm& norm) { return graph.value(norm.norm.output).name; }

TEST(WholeNorms, GammaAndBetaBehindANormArePartOfIt) {
  for (const auto& text : {kRms, kLayer}) {
    const auto graph = written(text + "  return %y\n");
    const auto norms = joinable(graph);
    ASSERT_EQ(norms.size(), 1U) << text;
    const WholeNorm& norm = norms[0].norm;
    EXPECT_EQ(norm.centers, text == kLayer);
    EXPECT_EQ(norm.members.size(), graph.nodes.size());
    EXPECT_EQ(graph.value(norm.input).name, "x");
    EXPECT_EQ(graph.value(norm.gamma).name, "g");
    EXPECT_EQ(graph.value(norm.beta).name, "b");
    EXPECT_EQ(outputOf(graph, norms[0]), "y");
    EXPECT_EQ(norm.eps, 1e-5);
  }
}

TEST(WholeNorms, WithoutABetaWhereTheOpHasNone) {
  const auto graph = written(kRms + "  return %y\n");
  const auto norms = joinable(graph, false);
  ASSERT_EQ(norms.size(), 1U);
  EXPECT_EQ(norms[0].norm.beta, graph::kNoValue);
  EXPECT_EQ(outputOf(graph, norms[0]), "s");
}

TEST(WholeNorms, AScaledNormThatIsReadEndsThere) {
  const auto graph = written(kLayer + "  return %y, %s\n");
  const auto norms = joinable(graph);
  ASSERT_EQ(norms.size(), 1U);
  EXPECT_EQ(outputOf(graph, norms[0]), "s");
  EXPECT_EQ(norms[0].norm.beta, graph::kNoValue);
}

TEST(WholeNorms, WhatIsReadInsideKeepsItWrittenOut) {
  for (const auto& text : {kRms, kLayer}) {
    for (const char* inside : {"%q", "%m", "%r"}) {
      const auto graph = written(text + "  return %y, " + inside + "\n");
      EXPECT_TRUE(joinable(graph).empty()) << inside;
    }
  }
}

TEST(WholeNorms, AGammaOfAnotherTypeKeepsItWrittenOut) {
  for (const auto& text : {kRms, kLayer}) EXPECT_TRUE(joinable(written(text + "  return %y\n", "float64")).empty());
}

TEST(WholeNorms, ReadsAreFoundBehindCasts) {
  const auto graph = written(R"(  %w: float32[2, 5, 8] = Identity(%x) function Cast op "aten::to"
  %q: float32[2, 5, 8] = Mul(%w, %w)
  %m: float32[2, 5, 1] = Reduce(%q) {op = "mean", axes = [2], keepdim = true}
  %e: float32[2, 5, 1] = Add(%m, 1e-05)
  %r: float32[2, 5, 1] = Elementwise(%e) function SquareRoot
  %n: float32[2, 5, 8] = Div(%w, %r)
  %o: float32[2, 5, 8] = Neg(%x)
  return %n, %w, %o
)");
  const auto norms = joinable(graph);
  ASSERT_EQ(norms.size(), 1U);
  EXPECT_EQ(graph.value(norms[0].norm.input).name, "x");
  const auto read = must(readOf(graph, norms[0].norm, norms[0].norm.input));
  EXPECT_EQ(graph.node(read.node).op, "aten::to");
  EXPECT_FALSE(readOf(graph, norms[0].norm, norms[0].norm.output));
}

}  // namespace
}  // namespace normlens::analysis
