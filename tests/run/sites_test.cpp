// Which values of two models are compared with each other: a name counts, a number that a reader made up does not.
#include "core/run/compare/sites.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/graph_text.h"

namespace normlens::run {
namespace {

using graph::parsed;

graph::ValueId named(const graph::Graph& graph, std::string_view name) {
  for (size_t i = 0; i < graph.values.size(); ++i) {
    if (graph.values[i].name == name) return static_cast<graph::ValueId>(i);
  }
  throw std::runtime_error("there is no value " + std::string(name));
}

// Where the output of the first norm of `a` is compared with `b`.
Site firstOutput(const graph::Graph& a, const graph::Graph& b) {
  const auto sites = normSites(a, analysis::findNorms(a).layerNorms, b);
  const auto output = std::ranges::find(sites, SiteKind::NormOutput, &Site::kind);
  if (output == sites.end()) throw std::runtime_error("the norm has no output to compare");
  return *output;
}

// A norm that is called twice, and what multiplies its first output.
constexpr const char* kOriginal = R"(graph {
  input %x: float32[3, 8]
  const %g: float32[8] random 1
  const %b: float32[8] random 2
  %13: float32[3, 8] = LayerNorm(%x, %g, %b) {axes = [1], eps = 1e-05, normalized_shape = [8]} op "layer_norm" name "n"
  %15: float32[3, 8] = Mul(%13, 2) op "mul"
  %n/13: float32[3, 8] = LayerNorm(%15, %g, %b) {axes = [1], eps = 1e-05, normalized_shape = [8]} op "layer_norm" name "n"
  return %n/13
})";

TEST(Sites, ANumberOfAnotherOpIsNoPartner) {
  const graph::Graph a = parsed(kOriginal), b = parsed(R"(graph {
  input %x: float32[3, 8]
  const %g: float32[8] random 1
  const %b: float32[8] random 2
  %11: float32[3, 8] = RmsNorm(%x, %g) {axes = [1], eps = 1e-05, normalized_shape = [8]} op "rms_norm" name "n"
  %15: float32[3, 8] = Add(%11, %b) op "add" name "n"
  %13: float32[3, 8] = Mul(%15, 2) op "mul"
  %n/11: float32[3, 8] = RmsNorm(%13, %g) {axes = [1], eps = 1e-05, normalized_shape = [8]} op "rms_norm" name "n"
  %n/15: float32[3, 8] = Add(%n/11, %b) op "add" name "n"
  return %n/15
})");
  const auto norms = analysis::findNorms(a).layerNorms;
  ASSERT_EQ(norms.size(), 2U);
  for (const Site& site : normSites(a, norms, b)) {
    if (site.kind != SiteKind::NormOutput) continue;
    const bool first = site.norm == 0;
    EXPECT_EQ(site.partners, (std::vector{named(b, first ? "11" : "n/11"), named(b, first ? "15" : "n/15")}));
  }
  EXPECT_TRUE(valueSites(a, {named(a, "15")}, b).empty()) << "a Mul is not the Add that has its number now";
}

TEST(Sites, ANormThatIsWrittenOutHasItsRank) {
  const graph::Graph a = parsed(kOriginal), b = parsed(R"(graph {
  input %x: float32[3, 8]
  const %g: float32[8] random 1
  const %b: float32[8] random 2
  %7: float32[3, 8] = Mul(%x, %x) op "mul" name "n"
  %8: float32[3, 1] = Reduce(%7) {op = "mean", axes = [1], keepdim = true} op "mean" name "n"
  %9: float32[3, 1] = Add(%8, 1e-05) op "add" name "n"
  %13: float32[3, 1] = Elementwise(%9) function InverseSquareRoot op "rsqrt" name "n"
  %14: float32[3, 8] = Mul(%x, %13) op "mul" name "n"
  %16: float32[3, 8] = Mul(%14, %g) op "mul" name "n"
  %17: float32[3, 8] = Add(%16, %b) op "add" name "n"
  %15: float32[3, 8] = Mul(%17, 2) op "mul"
  %n/13: float32[3, 8] = LayerNorm(%15, %g, %b) {axes = [1], eps = 1e-05, normalized_shape = [8]} op "layer_norm" name "n"
  return %n/13
})");
  EXPECT_EQ(firstOutput(a, b).partners, (std::vector{named(b, "16"), named(b, "17")}));
}

TEST(Sites, ANameOfSeveralValuesIsNoPartnerOfAnotherOp) {
  graph::Graph a = parsed(R"(graph {
  input %x: float32[3, 8]
  const %g: float32[8] random 1
  const %b: float32[8] random 2
  %h: float32[3, 8] = LayerNorm(%x, %g, %b) {axes = [1], eps = 1e-05, normalized_shape = [8]} op "layer_norm" name "n"
  %again: float32[3, 8] = Mul(%h, 3) op "mul"
  return %again
})");
  const graph::Graph b = parsed(R"(graph {
  input %x: float32[3, 8]
  const %g: float32[8] random 1
  %y: float32[3, 8] = RmsNorm(%x, %g) {axes = [1], eps = 1e-05, normalized_shape = [8]} op "rms_norm" name "n"
  %h: float32[3, 8] = Mul(%y, 3) op "mul"
  return %h
})");
  a.values[static_cast<size_t>(named(a, "again"))].name = "h#1";
  EXPECT_EQ(firstOutput(a, b).partners, std::vector{named(b, "y")});
}

// As LibTorch names a traced block of LN, Linear to twice the width, chunk and gate, before and behind a fold with
// primitives: the numbers behind the point are counted anew.
TEST(Sites, ACountedNameIsNoPartnerOfAnotherOp) {
  constexpr const char* kStart = R"(graph {
  input %x: float32[3, 8]
  const %g: float32[8] random 1
  const %w: float32[16, 8] random 2
)";
  graph::Graph a = parsed(std::string(kStart) + R"(
  %n: float32[3, 8] = LayerNorm(%x, %g, _) {axes = [1], eps = 1e-05, normalized_shape = [8]} op "layer_norm" name "n"
  %both: float32[3, 16] = Linear(%n, %w, _) op "linear" name "up"
  %u: float32[3, 8] = Slice(%both) {axis = 1, start = 0, end = 8, step = 1} op "chunk"
  return %u
})");
  graph::Graph b = parsed(std::string(kStart) + R"(
  %s: float32[3, 8] = Mul(%x, %x) op "pow" name "n"
  %m: float32[3, 1] = Reduce(%s) {op = "mean", axes = [1], keepdim = true} op "mean" name "n"
  %e: float32[3, 1] = Add(%m, 1e-05) op "add" name "n"
  %r: float32[3, 1] = Elementwise(%e) function InverseSquareRoot op "rsqrt" name "n"
  %p: float32[3, 8] = Mul(%x, %r) op "mul" name "n"
  %n: float32[3, 8] = Mul(%p, %g) op "mul" name "n"
  %both: float32[3, 16] = Linear(%n, %w, _) op "linear" name "up"
  %u: float32[3, 8] = Slice(%both) {axis = 1, start = 0, end = 8, step = 1} op "chunk"
  return %u
})");
  const auto rename = [](graph::Graph& graph, const char* from, const char* to) {
    graph.values[static_cast<size_t>(named(graph, from))].name = to;
  };
  rename(a, "n", "input.3");
  rename(b, "p", "input.3");
  rename(b, "n", "input.5");
  EXPECT_EQ(firstOutput(a, b).partners, std::vector{named(b, "input.5")});
}

// As Paddle names values of ONNX files: a fold takes gamma into the norm and leaves beta out.
TEST(Sites, ANormThatTookInItsGammaIsComparedBehindIt) {
  const graph::Graph a = parsed(R"(graph {
  input %x: float32[3, 8]
  const %g: float32[8] random 1
  const %b: float32[8] random 2
  const %w: float32[8, 8] random 3
  %mean.1: float32[3, 1] = Reduce(%x) {op = "mean", axes = [1], keepdim = true} op "ReduceMean"
  %sub.1: float32[3, 8] = Sub(%x, %mean.1) op "Sub"
  %mul.1: float32[3, 8] = Mul(%sub.1, %sub.1) op "Mul"
  %mean.2: float32[3, 1] = Reduce(%mul.1) {op = "mean", axes = [1], keepdim = true} op "ReduceMean"
  %add.1: float32[3, 1] = Add(%mean.2, 1e-05) op "Add"
  %sqrt.1: float32[3, 1] = Elementwise(%add.1) function SquareRoot op "Sqrt"
  %div.1: float32[3, 8] = Div(%sub.1, %sqrt.1) op "Div"
  %mul.2: float32[3, 8] = Mul(%div.1, %g) op "Mul"
  %add.2: float32[3, 8] = Add(%mul.2, %b) op "Add"
  %y: float32[3, 8] = MatMul(%add.2, %w) op "MatMul"
  return %y
})");
  const graph::Graph b = parsed(R"(graph {
  input %x: float32[3, 8]
  const %g: float32[8] random 1
  const %w: float32[8, 8] random 3
  %mul.2: float32[3, 8] = RmsNorm(%x, %g) {axes = [1], eps = 1e-05} op "RMSNormalization"
  %y: float32[3, 8] = MatMul(%mul.2, %w) op "MatMul"
  return %y
})");
  EXPECT_EQ(firstOutput(a, b).value, named(a, "mul.2"));
  EXPECT_EQ(firstOutput(a, b).partners, std::vector{named(b, "mul.2")});
}

}  // namespace
}  // namespace normlens::run
