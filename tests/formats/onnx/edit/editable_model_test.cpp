#include "core/formats/onnx/edit/editable_model.h"

#include <gtest/gtest.h>

#include "tests/formats/onnx/onnx_fixture.h"

namespace normlens::formats::onnx {
namespace {

constexpr auto kTwoCalls = R"(
<ir_version: 8, opset_import: ["" : 18, "local" : 1]>
g (float[N, 4] x) => (float[N, 4] y) {
  [one] a = local.outer(x)
  [two] y = local.outer(a)
}
<domain: "local", opset_import: ["" : 18]>
inner (p) => (q) { [relu] q = Relu(p) }
<domain: "local", opset_import: ["" : 18, "local" : 1]>
outer (s) => (t) { u = local.inner(s)  [tanh] t = Tanh(u) }
)";

NodeProto renamed(const NodeProto& node, const char* op) {
  NodeProto out = node;
  out.set_op_type(op);
  return out;
}

TEST(EditableModel, NothingEditedIsBitEqual) {
  const ModelProto model = modelFromText(kTwoCalls);
  EditableModel edited(sourceOf(model));
  const auto looked = edited.at({{0, ""}, {0, ""}, {0, ""}}, 0);
  EXPECT_EQ(looked.node->op_type(), "Relu");
  edited.finishNodes();
  EXPECT_EQ(edited.finish()->SerializeAsString(), model.SerializeAsString());
}

TEST(EditableModel, CallsThatDifferGetFunctionsOfTheirOwn) {
  EditableModel edited(sourceOf(modelFromText(kTwoCalls)));
  const auto relu = edited.at({{1, ""}, {0, ""}, {0, ""}}, 0);
  ASSERT_EQ(relu.node->op_type(), "Relu");
  edited.replace(*relu.body, *relu.node, renamed(*relu.node, "Sigmoid"));
  edited.finishNodes();
  const ModelProto out = *edited.finish();
  ASSERT_EQ(out.functions_size(), 4);
  EXPECT_EQ(out.graph().node(0).op_type(), "outer");
  EXPECT_EQ(out.graph().node(1).op_type(), "outer_folded");
  EXPECT_EQ(out.functions(0).node(0).op_type(), "Relu");
  EXPECT_EQ(checkerSays(out), "");
}

TEST(EditableModel, CallsThatAgreeKeepTheirFunction) {
  EditableModel edited(sourceOf(modelFromText(kTwoCalls)));
  for (const int call : {0, 1}) {
    const auto relu = edited.at({{call, ""}, {0, ""}, {0, ""}}, 0);
    NodeProto extra;
    extra.set_op_type("Neg");
    extra.add_input(relu.node->input(0));
    extra.add_output(EditableModel::freshName(*relu.body, "negative"));
    edited.setInput(relu, extra.output(0));
    edited.addBefore(*relu.body, relu.node, {extra});
  }
  edited.finishNodes();
  const ModelProto out = *edited.finish();
  ASSERT_EQ(out.functions_size(), 2);
  EXPECT_EQ(out.functions(0).name(), "inner");
  ASSERT_EQ(out.functions(0).node_size(), 2);
  EXPECT_EQ(out.functions(0).node(0).op_type(), "Neg");
  EXPECT_EQ(checkerSays(out), "");
}

TEST(EditableModel, FindsWhereANameIsMadeThroughBodiesAndCalls) {
  ModelProto model = modelFromText(kTwoCalls);
  addTensor(model, "w", {4}, 1);
  model.mutable_graph()->mutable_node(0)->set_input(0, "w");
  EditableModel edited(sourceOf(model));
  const auto relu = edited.at({{0, ""}, {0, ""}, {0, ""}}, 0);
  const auto origin = EditableModel::originOf(*relu.body, EditableModel::nameAt(relu));
  EXPECT_EQ(origin.kind, Origin::Kind::Initializer);
  EXPECT_EQ(origin.name, "w");
  EXPECT_EQ(origin.calls.size(), 2U);
  const auto reads = edited.readsOf(edited.main(), "w");
  ASSERT_EQ(reads.size(), 1U);
  EXPECT_EQ(reads[0], relu);
}

TEST(EditableModel, DeadNodesGoButThoseOfTheFileStay) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[N, 4] x) => (float[N, 4] y) {
      unused = Abs(x)
      m = ReduceMean <axes = [-1]> (x)
      c = Sub(x, m)
      y = Relu(c)
    })");
  auto* info = model.mutable_graph()->add_value_info();
  *info = model.graph().output(0);
  info->set_name("c");
  EditableModel edited(sourceOf(model));
  const auto relu = edited.at({{3, ""}}, 0);
  edited.setInput(relu, "x");
  edited.finishNodes();
  const ModelProto out = *edited.finish();
  EXPECT_EQ(opsOf(out.graph()), "Abs,Relu");
  EXPECT_EQ(out.graph().value_info_size(), 0);
}

TEST(EditableModel, WhatABodyReadsKeepsItsMakerAlive) {
  const ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (bool c, float[N, 4] x) => (float[N, 4] y, float[N, 4] z) {
      m = Abs(x)
      z = Relu(m)
      y = If (c) <
        then_branch = t () => (float[N, 4] p) { p = Neg(m) },
        else_branch = e () => (float[N, 4] q) { q = Neg(x) }>
    })");
  EditableModel edited(sourceOf(model));
  edited.setInput(edited.at({{1, ""}}, 0), "x");
  edited.finishNodes();
  EXPECT_EQ(opsOf(edited.finish()->graph()), "Abs,Relu,If{Neg}{Neg}");
}

TEST(EditableModel, AnOperatorOfTheRuntimeIsNoCall) {
  const ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[N, 4] x) => (float[N, 4] y) { a = Relu(x)  y = Odd(a) }
    <domain: "", opset_import: ["" : 17]>
    Relu (p) => (q) { q = Neg(p) }
    <domain: "", opset_import: ["" : 17]>
    Odd (p) => (q) { q = Neg(p) })");
  EditableModel edited(sourceOf(model));
  const auto node = [&](int index) { return edited.at({{index, ""}}, 0).node; };
  EXPECT_EQ(edited.calledBy(edited.main(), *node(0)), nullptr);
  EXPECT_NE(edited.calledBy(edited.main(), *node(1)), nullptr);
}

}  // namespace
}  // namespace normlens::formats::onnx
