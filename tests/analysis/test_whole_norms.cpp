// Norms with what stands behind them, which of those that are written out could be one op, and what a LayerNorm is
// called where it is to be read: the module that the file names, which an ONNX node's name need not.
#include <gtest/gtest.h>

#include "core/analysis/norms/whole_norm.h"
#include "tests/analysis/analyzed.h"
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

std::string norm(const std::string& made, const std::string& read, const std::string& where) {
  return "  %" + made + ": float32[2, 8] = LayerNorm(%" + read + ", _, _) {axes = [1], eps = 1e-05} " + where + "\n";
}

std::vector<std::string> titles(const std::string& statements) {
  const graph::Graph graph = parsed("graph {\n  input %x: float32[2, 8]\n" + statements + "}\n");
  std::vector<std::string> out;
  for (const LayerNorm& found : findNorms(graph).layerNorms) out.push_back(found.title);
  return out;
}

TEST(NormTitles, AreTheModulesOfTheirOwn) {
  EXPECT_EQ(
      titles(norm("a", "x", R"(name "node_layer_norm" scope "m.norm")") +
             norm("b", "a", R"(name "/m/layers.0/norm/LayerNormalization" scope "m.layers.0.norm")") + "  return %b\n"),
      (std::vector<std::string>{"m.norm", "m.layers.0.norm"}));
}

TEST(NormTitles, AreTheModulesThoughACastIsInThem) {
  EXPECT_EQ(titles(norm("a", "x", R"(name "/m/ln_2/LayerNormalization" scope "m.ln_2")") +
                   R"(  %c: float32[2, 8] = Identity(%a) {function = "Cast"} name "/m/ln_2/Cast" scope "m.ln_2")"
                   "\n" +
                   "  return %c\n"),
            (std::vector<std::string>{"m.ln_2"}));
}

TEST(NormTitles, SayWhichOpWhereTheModuleHoldsMore) {
  EXPECT_EQ(titles(norm("a", "x", R"(name "node_layer_norm" scope "m.block")") +
                   norm("b", "a", R"(name "node_layer_norm_1" scope "m.block")") +
                   norm("c", "b", R"(name "node_layer_norm_2" scope "m")") + "  return %c\n"),
            (std::vector<std::string>{"m.block.node_layer_norm", "m.block.node_layer_norm_1", "m.node_layer_norm_2"}))
      << "m holds the block, too";
}

// Flax by way of TensorFlow, and paddle: a module named as a norm holds views and casts; nodes are numbered.
TEST(NormTitles, AreTheModuleThatSaysNorm) {
  std::string more;
  for (const char* view : {"c", "d", "e", "f", "g"})
    more += std::string("  %") + view + R"(: float32[2, 8] = Identity(%a) {function = "Cast"} scope "m.LayerNorm_1")" +
            "\n";
  EXPECT_EQ(titles(norm("a", "x", R"(name "m/LayerNorm_1/Mul_1" scope "m.LayerNorm_1")") + more + "  return %c\n"),
            (std::vector<std::string>{"m.LayerNorm_1"}));
  EXPECT_EQ(titles(norm("a", "x", R"(name "p2o.Div.28" scope "block_26")") +
                   norm("b", "a", R"(name "p2o.Div.30" scope "block_26")") + "  return %b\n"),
            (std::vector<std::string>{"block_26.Div.28", "block_26.Div.30"}));
}

TEST(NormTitles, AreTheNamesWhereThoseSayItOrNothingDoes) {
  EXPECT_EQ(titles(norm("a", "x", R"(name "m.block.norm" scope "m.block")") + norm("b", "a", R"(name "n")") +
                   norm("c", "b", R"(name "n")") + "  return %c\n"),
            (std::vector<std::string>{"m.block.norm", "n", "n#1"}));
}

TEST(NormTitles, StandInTheReasonsOfOthers) {
  const Analyzed model(R"(graph {
  input %x: float64[2, 8]
  const %g: float64[8] values <1, 2, 3, 4, 5, 6, 7, 8>
  %a: float64[2, 8] = LayerNorm(%x, %g, _) {axes = [1], eps = 1e-05} name "node_layer_norm" scope "m.norm"
  %b: float64[2, 8] = LayerNorm(%a, _, _) {axes = [1], eps = 1e-05} name "node_layer_norm_1" scope "m.last"
  return %b
}
)");
  const std::string& reason = model->verdicts[1].reason;
  EXPECT_NE(reason.find("the LayerNorm m.norm with"), std::string::npos) << reason;
}

}  // namespace
}  // namespace normlens::analysis
