// RMSNorms written out in the ways of several libraries: found with all their nodes, and left where only nearly one.
#include <gtest/gtest.h>

#include "core/analysis/norms/norms.h"
#include "tests/support/graph_text.h"

namespace normlens::analysis {
namespace {

// As T5 has it in float32. One line per part, so that a test can change one; an empty part is left out.
struct Written {
  std::string wide;  // the input in another type
  std::string square = R"(%q: float32[2, 5, 8] = Elementwise(%x, 2) function Power)";
  std::string mean = R"(%m: float32[2, 5, 1] = Reduce(%q) {op = "mean", axes = [2], keepdim = true})";
  std::string plusEps = "%e: float32[2, 5, 1] = Add(%m, 1e-06)";
  std::string root = R"(%r: float32[2, 5, 1] = Elementwise(%e) function InverseSquareRoot)";
  std::string middle = "%y: float32[2, 5, 8] = Mul(%x, %r)";
  std::string narrow;  // the cast back
  std::string factor;  // what gamma is made by
  std::string scaled = "%z: float32[2, 5, 8] = Mul(%g, %y)";
  std::string rest;  // what else there is
  std::string result = "%z";
  std::string type = "float32";  // of x and gamma

  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> all;
    for (const auto* line : {&wide, &square, &mean, &plusEps, &root, &middle, &narrow, &factor, &scaled}) {
      if (!line->empty()) all.push_back(*line);
    }
    return all;
  }
  [[nodiscard]] std::string text() const {
    std::string text = "graph {\n  input %x: " + type + "[2, 5, 8]\n  input %u: float32[8]\n  const %g: " + type +
                       "[8] random 1\n  const %h: float32[8] random 2\n";
    for (const auto& line : lines()) text += "  " + line + "\n";
    return text + rest + "  return " + result + "\n}";
  }
};

// T5 in half precision: the statistics in float32, the product promoted to it, cast back before gamma.
Written halfT5() {
  Written norm;
  norm.type = "float16";
  norm.wide = R"(%w: float32[2, 5, 8] = Cast(%x) op "aten::to")";
  norm.square = R"(%q: float32[2, 5, 8] = Elementwise(%w, 2) function Power)";
  norm.narrow = R"(%n: float16[2, 5, 8] = Cast(%y) op "aten::to")";
  norm.scaled = "%z: float16[2, 5, 8] = Mul(%g, %n)";
  return norm;
}

// Gemma in half precision: 1 + gamma in float32, cast back at the end.
Written halfGemma() {
  Written norm = halfT5();
  norm.middle = "%y: float32[2, 5, 8] = Mul(%w, %r)";
  norm.narrow = R"(%gw: float32[8] = Cast(%g) op "aten::to")";
  norm.factor = "%k: float32[8] = Add(%gw, 1)";
  norm.scaled = "%s: float32[2, 5, 8] = Mul(%y, %k)\n  %z: float16[2, 5, 8] = Cast(%s) op \"aten::type_as\"";
  return norm;
}

struct Norm {
  graph::Graph graph;
  Norms norms;

  explicit Norm(const Written& written) : Norm(written.text()) {}
  explicit Norm(const std::string& text) : graph(graph::parsed(text)), norms(findNorms(graph)) {}
  [[nodiscard]] const OtherNorm& only() const { return norms.others.at(0); }
  [[nodiscard]] std::string name(graph::ValueId value) const {
    return value == graph::kNoValue ? "_" : graph.value(value).name;
  }
};

void expectWhole(const Written& written, const std::string& gamma = "g") {
  const Norm found(written);
  ASSERT_EQ(found.norms.others.size(), 1U) << written.text();
  EXPECT_TRUE(found.norms.layerNorms.empty()) << written.text();
  EXPECT_EQ(found.only().kind, OtherNormKind::RmsNorm);
  EXPECT_EQ(found.only().form, NormForm::Decomposed);
  EXPECT_EQ(found.only().axes, (std::vector<int64_t>{2}));
  EXPECT_EQ(found.only().eps, 1e-6);
  EXPECT_EQ(found.only().members.size(), found.graph.nodes.size()) << written.text();
  EXPECT_EQ(found.name(found.only().input), "x");
  EXPECT_EQ("%" + found.name(found.only().output), written.result);
  EXPECT_EQ(found.name(found.only().gamma), gamma) << written.text();
  EXPECT_TRUE(isClosed(found.graph, found.only().members, found.only().output));
  EXPECT_TRUE(found.only().exactMeans);
}

TEST(DecomposedRmsNorms, AsT5HasThem) { expectWhole(Written()); }

TEST(DecomposedRmsNorms, WithCastsToFloat32AndBack) {
  expectWhole(halfT5());
  Written llama = halfT5();
  llama.middle = "%y: float32[2, 5, 8] = Mul(%w, %r)";
  expectWhole(llama);
  Written afterwards = llama;  // gamma in float32, then the cast
  afterwards.narrow.clear();
  afterwards.factor = R"(%k: float32[8] = Cast(%g) op "aten::to")";
  afterwards.scaled = "%s: float32[2, 5, 8] = Mul(%k, %y)\n  %z: float16[2, 5, 8] = Cast(%s) op \"Cast\"";
  const Norm found(afterwards);
  ASSERT_EQ(found.norms.others.size(), 1U);
  EXPECT_EQ(found.only().members.size(), found.graph.nodes.size());
  EXPECT_EQ(found.name(found.only().gamma), "k");
}

TEST(DecomposedRmsNorms, WithOneAddedToGamma) { expectWhole(halfGemma(), "k"); }

TEST(DecomposedRmsNorms, InTheirOtherSpellings) {
  std::vector<Written> spellings(12);
  spellings[0].square = "%q: float32[2, 5, 8] = Mul(%x, %x)";
  spellings[1].square = R"(%q: float32[2, 5, 8] = Elementwise(%x) function Square)";
  spellings[2].middle = "%y: float32[2, 5, 8] = Mul(%r, %x)";
  spellings[3].root = R"(%r: float32[2, 5, 1] = Elementwise(%e) function SquareRoot)";
  spellings[3].middle = "%y: float32[2, 5, 8] = Div(%x, %r)";
  spellings[4].root = R"(%t: float32[2, 5, 1] = Elementwise(%e) function SquareRoot
  %r: float32[2, 5, 1] = Elementwise(%t) function Reciprocal)";
  spellings[5].root = R"(%t: float32[2, 5, 1] = Elementwise(%e) function SquareRoot
  %r: float32[2, 5, 1] = Div(1, %t))";
  spellings[6].root = R"(%r: float32[2, 5, 1] = Elementwise(%e, -0.5) function Power)";
  spellings[7].mean = R"(%t: float32[2, 5, 1] = Reduce(%q) {op = "sum", axes = [2], keepdim = true}
  %m: float32[2, 5, 1] = Div(%t, 8))";
  spellings[8].mean = R"(%t: float32[2, 5] = Reduce(%q) {op = "mean", axes = [2], keepdim = false}
  %m: float32[2, 5, 1] = Reshape(%t))";
  spellings[9].scaled = "%z: float32[2, 5, 8] = Mul(%y, %g)";
  spellings[10].middle = "%k: float32[2, 5, 8] = Mul(%r, %g)\n  %y: float32[2, 5, 8] = Mul(%x, %k)";
  spellings[10].scaled.clear();
  spellings[10].result = "%y";
  spellings[11].plusEps = "%e: float32[2, 5, 1] = Add(1e-06, %m)";
  for (const Written& spelling : spellings) expectWhole(spelling);
}

TEST(DecomposedRmsNorms, WithoutGamma) {
  Written norm;
  norm.scaled.clear();
  norm.result = "%y";
  expectWhole(norm, "_");
}

TEST(DecomposedRmsNorms, WhatIsOnlyNearlyOneIsNone) {
  std::vector<Written> others(8);
  others[0].square = R"(%q: float32[2, 5, 8] = Elementwise(%x, 3) function Power)";
  others[1].mean = R"(%m: float32[2, 5, 1] = Reduce(%q) {op = "sum", axes = [2], keepdim = true})";  // the L2 norm
  others[2].mean = R"(%m: float32[1, 5, 8] = Reduce(%q) {op = "mean", axes = [0], keepdim = true})";
  others[2].plusEps = "%e: float32[1, 5, 8] = Add(%m, 1e-06)";
  others[2].root = R"(%r: float32[1, 5, 8] = Elementwise(%e) function InverseSquareRoot)";
  others[3].plusEps = "%e: float32[2, 5, 1] = Sub(%m, 1e-06)";
  others[4].root = R"(%r: float32[2, 5, 1] = Elementwise(%e) function SquareRoot)";           // times the root
  others[5].root = R"(%r: float32[2, 5, 1] = Elementwise(%e, -1) function Power)";            // over the square
  others[6].middle = "%o: float32[2, 5, 8] = Neg(%x)\n  %y: float32[2, 5, 8] = Mul(%o, %r)";  // of something else
  others[7].middle = "%y: float32[2, 5, 8] = Div(%r, %x)";
  for (const Written& other : others) EXPECT_TRUE(Norm(other).norms.others.empty()) << other.text();
}

TEST(DecomposedRmsNorms, ANormEndsBeforeAProductThatIsNoGamma) {
  for (const char* scaled : {"%z: float32[2, 5, 8] = Mul(%y, %u)", "%z: float32[2, 5, 8] = Mul(%y, 3)",
                             "%z: float32[2, 5, 8] = Mul(%y, %x)"}) {
    Written norm;
    norm.scaled = scaled;
    const Norm found(norm);
    ASSERT_EQ(found.norms.others.size(), 1U) << scaled;
    EXPECT_EQ(found.name(found.only().output), "y") << scaled;
    EXPECT_EQ(found.only().gamma, graph::kNoValue);
  }
}

TEST(DecomposedRmsNorms, ANormEndsWhereItsOutputIsReadBesideGamma) {
  Written norm;
  norm.result = "%z, %y";
  const Norm found(norm);
  ASSERT_EQ(found.norms.others.size(), 1U);
  EXPECT_EQ(found.name(found.only().output), "y");
}

TEST(DecomposedRmsNorms, AStatisticThatIsReadElsewhereIsNoSecret) {
  Written norm;
  norm.result = "%z, %m";
  const Norm found(norm);
  ASSERT_EQ(found.norms.others.size(), 1U);
  EXPECT_FALSE(isClosed(found.graph, found.only().members, found.only().output));
}

TEST(DecomposedRmsNorms, ACastThatOthersReadIsNoPartOfIt) {
  Written norm = halfT5();
  norm.result = "%z, %w";
  const Norm found(norm);
  ASSERT_EQ(found.norms.others.size(), 1U);
  EXPECT_EQ(found.only().members.size(), found.graph.nodes.size() - 1);
  EXPECT_TRUE(isClosed(found.graph, found.only().members, found.only().output));
}

TEST(DecomposedRmsNorms, ARoundedReciprocalIsTold) {
  Written norm;
  norm.mean = R"(%t: float32[2, 5, 1] = Reduce(%q) {op = "sum", axes = [2], keepdim = true}
  %m: float32[2, 5, 1] = Mul(%t, 0.12500001))";
  EXPECT_FALSE(Norm(norm).only().exactMeans);
}

TEST(DecomposedRmsNorms, ALayerNormIsNotSeenAsTheRmsNormOfItsCenteredInput) {
  Written norm;
  norm.wide = R"(%a: float32[2, 5, 1] = Reduce(%x) {op = "mean", axes = [2], keepdim = true}
  %c: float32[2, 5, 8] = Sub(%x, %a))";
  norm.square = R"(%q: float32[2, 5, 8] = Elementwise(%c, 2) function Power)";
  norm.middle = "%y: float32[2, 5, 8] = Mul(%c, %r)";
  const Norm found(norm);
  EXPECT_EQ(found.norms.layerNorms.size(), 1U);
  EXPECT_TRUE(found.norms.others.empty());
}

TEST(DecomposedRmsNorms, LayerNormsKeepTheirNames) {
  Written norm;
  norm.rest = "  %l: float32[2, 5, 8] = LayerNorm(%z, %g, %h) {axes = [2], eps = 1e-05}\n";
  norm.result = "%l";
  const Norm found(norm);
  ASSERT_EQ(found.norms.layerNorms.size(), 1U);
  EXPECT_EQ(found.norms.layerNorms[0].name, "op#0");
  EXPECT_EQ(found.only().name, "op#1");
}

}  // namespace
}  // namespace normlens::analysis
