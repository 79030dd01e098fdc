#include "core/formats/onnx/edit/lift_opset.h"

#include <gtest/gtest.h>

#include "tests/formats/onnx/onnx_fixture.h"

namespace normlens::formats::onnx {
namespace {

ModelProto lifted(const ModelProto& model, int target) {
  const OnnxSource source = sourceOf(model);
  EditableModel edited(source);
  const auto lift = OpsetLift::plan(edited, lowerModel(source, nullptr), target);
  if (!lift) throw std::runtime_error(lift.error().message);
  edited.finishNodes();
  lift->apply(edited);
  return *edited.finish();
}

std::string refusal(const ModelProto& model) {
  const OnnxSource source = sourceOf(model);
  EditableModel edited(source);
  const auto lift = OpsetLift::plan(edited, lowerModel(source, nullptr), 23);
  return lift ? "" : lift.error().message;
}

constexpr auto kReduce = R"(
<ir_version: 7, opset_import: ["" : 14]>
g (float[N, 4] x) => (float[N, 1] y) {
  [first] a = Relu(x)
  [second] y = ReduceMean <axes = [-1], keepdims = 1> (a)
})";

TEST(LiftOpset, PutsNewFormsInTheirPlaces) {
  ModelProto model = modelFromText(kReduce);
  auto& reduce = *model.mutable_graph()->mutable_node(1);
  reduce.set_doc_string("kept");
  auto* entry = reduce.add_metadata_props();
  entry->set_key("scope");
  entry->set_value("encoder");
  const ModelProto out = lifted(model, 23);
  EXPECT_EQ(opsOf(out.graph()), "Relu,Constant,ReduceMean");
  const auto& node = out.graph().node(2);
  EXPECT_EQ(node.name(), "second");
  EXPECT_EQ(node.doc_string(), "kept");
  ASSERT_EQ(node.metadata_props_size(), 1);
  EXPECT_EQ(node.metadata_props(0).value(), "encoder");
  EXPECT_EQ(node.input(0), "a");
  EXPECT_EQ(node.output(0), "y");
  EXPECT_EQ(out.opset_import(0).version(), 23);
  EXPECT_EQ(checkerSays(out), "");
}

TEST(LiftOpset, UnchangedNodesStayAsTheyAre) {
  const ModelProto model = modelFromText(kReduce);
  const ModelProto out = lifted(model, 23);
  EXPECT_EQ(out.graph().node(0).SerializeAsString(), model.graph().node(0).SerializeAsString());
}

TEST(LiftOpset, GoesIntoBodies) {
  const ModelProto model = modelFromText(R"(
    <ir_version: 7, opset_import: ["" : 14]>
    g (bool c, float[N, 4] x) => (float[N, 1] y) {
      y = If (c) <
        then_branch = t () => (float[N, 1] p) { p = ReduceMean <axes = [1]> (x) },
        else_branch = e () => (float[N, 1] q) { q = ReduceMax <axes = [1]> (x) }>
    })");
  const ModelProto out = lifted(model, 23);
  const std::string ops = opsOf(out.graph());
  EXPECT_TRUE(ops == "If{Constant,ReduceMean}{Constant,ReduceMax}") << ops;
  EXPECT_EQ(checkerSays(out), "");
}

TEST(LiftOpset, RefusesFunctionsOldFilesAndUnknownDomains) {
  ModelProto old = modelFromText(kReduce);
  old.set_ir_version(3);
  EXPECT_NE(refusal(old), "");
  ModelProto strange = modelFromText(kReduce);
  strange.mutable_graph()->mutable_node(0)->set_domain("my.ops");
  EXPECT_NE(refusal(strange).find("my.ops"), std::string::npos);
  const ModelProto functions = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[N, 4] x) => (float[N, 4] y) { y = local.f(x) }
    <domain: "local", opset_import: ["" : 17]>
    f (a) => (b) { b = Relu(a) })");
  EXPECT_NE(refusal(functions).find("functions"), std::string::npos);
}

TEST(LiftOpset, RefusesWhatOnnxRuntimeRunsInOlderVersionsOnly) {
  const ModelProto random = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[N, 4] x) => (float[N, 4] y) { n = RandomNormalLike (x)  y = Add (x, n) })");
  EXPECT_NE(refusal(random).find("RandomNormalLike"), std::string::npos);
  EXPECT_EQ(opsOf(lifted(random, 21).graph()), "RandomNormalLike,Add");
}

// The onnx library leaves their attributes, or their outputs' types, to what newer versions make of them.
TEST(LiftOpset, RefusesWhatWouldComputeSomethingElse) {
  const auto refusalOf = [](int opset, const std::string& node) {
    return refusal(modelFromText("<ir_version: 7, opset_import: [\"\" : " + std::to_string(opset) +
                                 "]> g (float[2, 3, 4] x, float[3] s) => (float[a, b, c] y) { " + node + " }"));
  };
  EXPECT_NE(refusalOf(10, "y = Resize(x, s)"), "");
  EXPECT_EQ(refusalOf(11, "y = Resize(x, s, s)"), "");
  EXPECT_NE(refusalOf(9, "y = Upsample(x, s)"), "");
  for (const char* axes : {"", "<axis = 1>"}) EXPECT_NE(refusalOf(12, std::string("y = Hardmax ") + axes + "(x)"), "");
  for (const char* axis : {"2", "-1"})
    EXPECT_EQ(refusalOf(12, std::string("y = Hardmax <axis = ") + axis + ">(x)"), "") << axis;
  EXPECT_NE(refusalOf(9, "y, mask = Dropout(x)"), "");
  EXPECT_EQ(refusalOf(9, "y = Dropout(x)"), "");
}

TEST(LiftOpset, NumbersGetTheTypeThatTheirNodeComputesIn) {
  for (const std::string type : {"float16", "double", "float"}) {
    for (const std::string node :
         {"Clip <min = 0.0, max = 6.0>", "Pad <pads = [0, 1, 0, 1], value = 2.0>", "Pad <pads = [0, 1, 0, 1]>"}) {
      const ModelProto out = lifted(modelFromText("<ir_version: 7, opset_import: [\"\" : 10]> g (" + type +
                                                  "[2, 4] x) => (" + type + "[2, n] y) { y = " + node + "(x) }"),
                                    23);
      EXPECT_EQ(checkerSays(out), "") << type << " " << node;
    }
  }
}

}  // namespace
}  // namespace normlens::formats::onnx
