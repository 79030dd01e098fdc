// Functions, and operators with bodies: what each becomes in the graph, and the way back to the file.
#include <gtest/gtest.h>

#include "tests/formats/onnx/read/lowered_model.h"

namespace normlens::formats::onnx {
namespace {

TEST(Lower, FunctionsAreInlined) {
  const auto model = lowered(R"(<ir_version: 8, opset_import: ["": 17, "f": 1]>
    m (float[N, 8] x) => (float[N, 8] y) { a = f.twice<k = 1>(x) y = f.twice(a) }
    <domain: "f", opset_import: ["": 17]> twice<k>(v) => (w) { t = Add(v, v) w = Identity(t) })");
  ASSERT_EQ(kindsOf(model), "Add Identity Add Identity");
  EXPECT_EQ(model.nodePath[1], (NodePath{{0, {}}, {1, {}}}));
  EXPECT_EQ(model.valuePath[static_cast<size_t>(model.graph.nodes[0].outputs[0])], "0//t");
  EXPECT_EQ(model.valuePath[static_cast<size_t>(model.graph.nodes[1].outputs[0])], "a");
  EXPECT_EQ(model.graph.scope(model.graph.nodes[2].scope).type, "twice");
}

TEST(Lower, FunctionAttributes) {
  const auto model = lowered(R"(<ir_version: 8, opset_import: ["": 17, "f": 1]>
    m (float[2, 3, 8] x) => (float[2, 3, 8] y) { a = f.soft<k = 1>(x) y = f.soft(a) }
    <domain: "f", opset_import: ["": 17]> soft<k: int = 0>(v) => (w) { w = Softmax<axis: int = @k>(v) })");
  EXPECT_EQ(graph::intAttribute(model.graph.nodes[0], "axis"), 1);
  EXPECT_EQ(graph::intAttribute(model.graph.nodes[1], "axis"), 0);
}

TEST(Lower, IfReadsOuterValues) {
  const auto model = lowered(R"(<ir_version: 8, opset_import: ["": 17]> m (bool c, float[2, 8] x) => (float[2, 8] y) {
    h = Neg(x)
    y = If(c) <then_branch = yes () => (float[2, 8] a) { a = Abs(h) }, else_branch = no () => (float[2, 8] b) { b = Identity(x) }>
  })");
  ASSERT_EQ(kindsOf(model), "Neg If Elementwise Identity");
  EXPECT_EQ(model.nodePath[2], (NodePath{{1, "then_branch"}, {0, {}}}));
  EXPECT_EQ(model.valuePath[static_cast<size_t>(model.graph.nodes[2].outputs[0])], "1/then_branch/a");
  EXPECT_EQ(model.graph.nodes[2].operands[0], model.graph.nodes[0].outputs[0]);
}

TEST(Lower, LoopCarriesAndScans) {
  const auto model = lowered(
      R"(<ir_version: 8, opset_import: ["": 17]> m (int64 n, float[2, 8] x) => (float[2, 8] y, float[K, 2, 8] s) {
    y, s = Loop(n, , x) <body = step (int64 i, bool go, float[2, 8] v) => (bool on, float[2, 8] w, float[2, 8] z) {
      on = Identity(go)
      w = Add(v, v)
      z = Neg(v)
    }>
  })");
  ASSERT_EQ(kindsOf(model), "Loop Identity Add Neg Opaque[scan]");
  const auto& body = model.graph.block(model.graph.nodes[0].blocks.at(0));
  EXPECT_EQ(body.params.size(), 2U);   // iteration, carried
  EXPECT_EQ(body.returns.size(), 2U);  // condition, carried
}

TEST(Lower, ScanCarriesAndReadsSlices) {
  const auto model = lowered(
      R"(<ir_version: 8, opset_import: ["": 17]> m (float[2, 8] c, float[2, 5, 8] x) => (float[2, 8] y, float[5, 2, 8] s) {
    y, s = Scan <num_scan_inputs = 1, scan_input_axes = [1],
                 body = step (float[2, 8] v, float[2, 8] t) => (float[2, 8] w, float[2, 8] z) {
      w = Add(v, t)
      z = Neg(t)
    }> (c, x)
  })");
  ASSERT_EQ(kindsOf(model), "Loop Gather[input 1] Add Neg Opaque[scan]");
  const auto& graph = model.graph;
  const auto& body = graph.block(graph.nodes[0].blocks.at(0));
  EXPECT_EQ(body.params.size(), 2U);   // pass, carried
  EXPECT_EQ(body.returns.size(), 2U);  // condition, carried
  EXPECT_EQ(graph.nodes[1].operands.at(1), body.params.at(0));
  EXPECT_EQ(graph.value(graph.nodes[1].outputs.at(0)).shape, (graph::Shape{2, 8}));
  EXPECT_EQ(model.nodePath[1], model.nodePath[0]) << "a read of the Scan's own input";
  EXPECT_EQ(graph.nodes[2].operands, (graph::Operands{body.params.at(1), graph.nodes[1].outputs.at(0)}));
}

TEST(Lower, UnknownOperatorsReadWhatTheirBodiesRead) {
  const auto model =
      lowered(R"(<ir_version: 8, opset_import: ["": 17, "acme": 1]> m (float[2, 8] x) => (float[2, 8] y) {
    h = Neg(x)
    y = acme.Wobble(x) <body = g () => (float[2, 8] a) { a = Abs(h) }>
  })");
  ASSERT_EQ(kindsOf(model), "Neg Opaque");
  EXPECT_EQ(model.graph.nodes[1].op, "acme::Wobble");
  EXPECT_EQ(model.graph.nodes[1].operands.size(), 2U);
}

}  // namespace
}  // namespace normlens::formats::onnx
