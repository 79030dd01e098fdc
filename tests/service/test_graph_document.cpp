#include <gtest/gtest.h>

#include "core/service/describe/graph_document.h"
#include "tests/support/graph_text.h"

namespace normlens::service {
namespace {

TEST(GraphDocument, rolesStreamsAndEnds) {
  const auto graph = graph::parseGraph(R"(graph {
    input %x: float32[2, 8]
    const %w: float32[8, 8] random 1
    const %b: float32[8] random 2
    %n: float32[2, 8] = LayerNorm(%x, _, _) {axes = [1], eps = 1e-05} op "aten::layer_norm" scope "block.ln"
    %f: float32[2, 8] = Linear(%n, %w, _) op "aten::linear"
    %fb: float32[2, 8] = Add(%f, %b) op "aten::add"
    %r: float32[2, 8] = Add(%x, %fb) op "aten::add"
    return %r
  })");
  ASSERT_TRUE(graph) << graph.error().message;
  const auto document = graphDocument(*graph, analysis::findNorms(*graph));
  std::string roles;
  for (const auto& node : document.nodes) roles += node.role;
  EXPECT_EQ(roles, "NLSRIG");
  EXPECT_EQ(document.nodes[0].label, "layer_norm");
  EXPECT_EQ(document.nodes[0].norm, 0);
  std::vector<std::string> streams;
  for (const auto& value : document.values) {
    if (value.stream) streams.push_back(value.name);
  }
  EXPECT_EQ(streams, (std::vector<std::string>{"x", "r"}));
  EXPECT_EQ(document.scopes.size(), 3U);
  EXPECT_EQ(document.scopes[2].path, "block.ln");
}

TEST(GraphDocument, outputsHaveTheNamesOfTheFile) {
  auto graph = graph::parseGraph("graph {\n  input %x: float32[2]\n  return %x, %x\n}");
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graphDocument(*graph, {}).nodes.back().label, "output 1");
  graph->outputNames = {"logits", "hidden"};
  EXPECT_EQ(graphDocument(*graph, {}).nodes.back().label, "hidden");
  graph->outputNames = {"logits", ""};
  EXPECT_EQ(graphDocument(*graph, {}).nodes.back().label, "output 1") << "not all have one";
}

}  // namespace
}  // namespace normlens::service
