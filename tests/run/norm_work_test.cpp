#include "core/run/norm_work.h"

#include <gtest/gtest.h>

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
  void add(OpKind kind, const char* name, std::vector<ValueId> operands) {
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

TEST(NormWork, SevenAgainstFourPerElement) {
  const Sample sample;
  const auto work = normWork(sample.graph, sample.norms);
  ASSERT_EQ(work.size(), 3U);
  constexpr double kElements = 2 * 3 * 8;
  EXPECT_EQ(work[0].kind, NormKind::LayerNorm);
  EXPECT_EQ(work[0].rows, 6);
  EXPECT_EQ(work[0].width, 8);
  EXPECT_EQ(work[0].reductions, 2);
  EXPECT_EQ(work[0].flops, 7 * kElements);
  EXPECT_EQ(work[0].bytes, (2 * kElements + 2 * 8) * 4);
  EXPECT_EQ(work[1].kind, NormKind::Centering);
  EXPECT_EQ(work[1].flops, 2 * kElements);
  EXPECT_EQ(work[2].kind, NormKind::RmsNorm);
  EXPECT_EQ(work[2].reductions, 1);
  EXPECT_EQ(work[2].flops, 4 * kElements);
}

TEST(NormWork, NodesOfNormsAndCenterings) {
  const Sample sample;
  EXPECT_EQ(normNodes(sample.graph, sample.norms), (std::vector<bool>{true, true, true, true}));
}

TEST(NormWork, ADifferenceFromAnotherMeanIsNoCentering) {
  Sample sample;
  sample.graph.nodes[2].operands[0] = 0;  // x - mean(LayerNorm(x))
  EXPECT_EQ(normNodes(sample.graph, sample.norms), (std::vector<bool>{true, false, false, true}));
  EXPECT_EQ(normWork(sample.graph, sample.norms).size(), 2U);
}

TEST(NormWork, WithoutShapesNothingIsKnown) {
  Sample sample;
  for (auto& value : sample.graph.values) value.shape.reset();
  EXPECT_TRUE(normWork(sample.graph, sample.norms).empty());
}

}  // namespace
}  // namespace normlens::run
