#include "core/run/measure/norm_work.h"

#include <gtest/gtest.h>

#include "tests/support/graph_text.h"

namespace normlens::run {
namespace {

using graph::DType;
using graph::OpKind;
using graph::ValueId;

graph::Value tensor(const char* name, graph::Shape shape) {
  graph::Value value;
  value.name = name;
  value.dtype = DType::Float32;
  value.shape = std::move(shape);
  return value;
}

// x [2, 3, 8] -> LayerNorm with gamma and beta -> x - mean(x) -> RMSNorm with gamma.
struct Sample {
  Sample() {
    const ValueId x = graph.addParam(0, tensor("x", {2, 3, 8}));
    const ValueId gamma = constant("gamma"), beta = constant("beta");
    add(OpKind::LayerNorm, "ln", {x, gamma, beta});
    add(OpKind::Reduce, "mean", {3});
    graph.nodes[1].attributes = {{"op", std::string("mean")}, {"axes", std::vector<int64_t>{2}}, {"keepdim", true}};
    add(OpKind::Sub, "center", {3, 4});
    add(OpKind::RmsNorm, "rms", {5, gamma});
    norms = analysis::findNorms(graph);
  }
  ValueId constant(const char* name) {
    graph::Constant made;
    made.name = name;
    return graph.addConstant(made);
  }
  void add(OpKind kind, const char* name, graph::Operands operands) {
    graph::Node node;
    node.kind = kind;
    node.name = name;
    node.operands = std::move(operands);
    if (kind == OpKind::LayerNorm) node.attributes = {{"axes", std::vector<int64_t>{2}}, {"eps", 1e-5}};
    graph.addNode(node, {tensor(name, kind == OpKind::Reduce ? graph::Shape{2, 3, 1} : graph::Shape{2, 3, 8})});
  }
  graph::Graph graph;
  analysis::Norms norms;
};

TEST(NormWork, EightTicksAgainstFourPerElement) {
  const Sample sample;
  const auto work = normWork(sample.graph, sample.norms);
  ASSERT_EQ(work.size(), 3U);
  constexpr double kRows = 2 * 3, kElements = kRows * 8;
  EXPECT_EQ(work[0].kind, NormKind::LayerNorm);
  EXPECT_EQ(work[0].rows, 6);
  EXPECT_EQ(work[0].width, 8);
  EXPECT_EQ(work[0].reductions, 2);
  EXPECT_EQ(work[0].cost.additions, 5 * kElements - 2 * kRows);
  EXPECT_EQ(work[0].cost.multiplications, 3 * kElements);
  EXPECT_EQ(work[0].cost.divisions, 2 * kRows);
  EXPECT_EQ(work[0].cost.ticks(), 8 * kElements + 4 * kRows);
  EXPECT_EQ(work[0].welfordTicks, kRows * (12 * 8 + 4 * 8 - 12));  // no more groups than numbers
  EXPECT_EQ(work[0].bytes, (2 * kElements + 2 * 8) * 4);
  EXPECT_EQ(work[1].kind, NormKind::Centering);
  EXPECT_EQ(work[1].cost.ticks(), 2 * kElements + 2 * kRows);
  EXPECT_EQ(work[2].kind, NormKind::RmsNorm);
  EXPECT_EQ(work[2].reductions, 1);
  EXPECT_EQ(work[2].cost.ticks(), 4 * kElements + 2 * kRows);
  EXPECT_EQ(work[2].welfordTicks, 4 * kElements - kRows);
}

TEST(NormWork, ADifferenceFromAnotherMeanIsNoCentering) {
  Sample sample;
  EXPECT_EQ(normNodes(sample.graph, sample.norms), (std::vector<bool>{true, true, true, true}));
  sample.graph.nodes[2].operands[0] = 0;  // x - mean(LayerNorm(x))
  EXPECT_EQ(normNodes(sample.graph, sample.norms), (std::vector<bool>{true, false, false, true}));
  EXPECT_EQ(normWork(sample.graph, sample.norms).size(), 2U);
}

TEST(NormWork, WithoutShapesNothingIsKnown) {
  Sample sample;
  for (auto& value : sample.graph.values) value.shape.reset();
  EXPECT_TRUE(normWork(sample.graph, sample.norms).empty());
}

// Neither the linear before them nor the one behind is a part of a norm; the gamma and beta of each are.
const char* const kWrittenOut = R"(graph {
  input %x: float32[2, 3, 8]
  const %w: float32[8, 8] random 1
  const %g: float32[8] random 2
  const %b: float32[8] random 3
  %h: float32[2, 3, 8] = Linear(%x, %w, _)
  %m: float32[2, 3, 1] = Reduce(%h) {op = "mean", axes = [2], keepdim = true}
  %c: float32[2, 3, 8] = Sub(%h, %m)
  %cc: float32[2, 3, 8] = Mul(%c, %c)
  %v: float32[2, 3, 1] = Reduce(%cc) {op = "mean", axes = [2], keepdim = true}
  %e: float32[2, 3, 1] = Add(%v, 1e-05)
  %r: float32[2, 3, 1] = Elementwise(%e) function SquareRoot
  %n: float32[2, 3, 8] = Div(%c, %r)
  %ng: float32[2, 3, 8] = Mul(%n, %g)
  %y: float32[2, 3, 8] = Add(%ng, %b)
  %q: float32[2, 3, 8] = Mul(%y, %y)
  %qm: float32[2, 3, 1] = Reduce(%q) {op = "mean", axes = [2], keepdim = true}
  %qe: float32[2, 3, 1] = Add(%qm, 1e-05)
  %qr: float32[2, 3, 1] = Elementwise(%qe) function SquareRoot
  %k: float32[2, 3, 8] = Div(%y, %qr)
  %kg: float32[2, 3, 8] = Mul(%k, %g)
  %kb: float32[2, 3, 8] = Add(%kg, %b)
  %z: float32[2, 3, 8] = Linear(%kb, %w, _)
  return %z
})";

TEST(NormWork, OfNormsThatAreWrittenOut) {
  const auto graph = graph::parsed(kWrittenOut);
  const auto norms = analysis::findNorms(graph);
  std::vector<bool> expected(graph.nodes.size(), true);
  expected.front() = expected.back() = false;
  EXPECT_EQ(normNodes(graph, norms), expected);
  const auto work = normWork(graph, norms);
  ASSERT_EQ(work.size(), 2U);
  constexpr double kRows = 2 * 3, kElements = kRows * 8;
  EXPECT_EQ(work[0].kind, NormKind::LayerNorm);
  EXPECT_EQ(work[0].cost.ticks(), 8 * kElements + 4 * kRows);
  EXPECT_EQ(work[1].kind, NormKind::RmsNorm);
  EXPECT_EQ(work[1].cost.ticks(), 5 * kElements + 2 * kRows);  // with a beta
}

TEST(NormWork, ABetaBehindAnRmsNormOp) {
  Sample sample;
  const ValueId beta = sample.constant("shift");
  sample.graph.values[static_cast<size_t>(beta)].shape = graph::Shape{8};
  sample.graph.nodes[3].attributes = {{"axes", std::vector<int64_t>{2}}};
  const ValueId normalized = sample.graph.nodes[3].outputs[0];
  sample.add(OpKind::Add, "beta", {normalized, beta});
  const auto norms = analysis::findNorms(sample.graph);
  EXPECT_EQ(normNodes(sample.graph, norms), (std::vector<bool>{true, true, true, true, true}));
  sample.add(OpKind::Add, "bias", {sample.graph.nodes[4].outputs[0], beta});  // of something else
  EXPECT_FALSE(normNodes(sample.graph, analysis::findNorms(sample.graph)).back());
}

}  // namespace
}  // namespace normlens::run
