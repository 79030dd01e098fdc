// Folding small models: what the result looks like, and that it says the same.
#include <gtest/gtest.h>

#include "core/formats/onnx/edit/editable_model.h"
#include "tests/formats/onnx/edit/folded_model.h"

namespace normlens::formats::onnx {
namespace {

// x W -> LN -> out, in the given opset.
ModelProto plain(int opset, int ir = 8) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3, 8] x) => (float[2, 3, 4] y) {
      [dense] h = MatMul(x, w)
      [norm] n = LayerNormalization <axis = -1, epsilon = 0.01> (h, gamma, beta)
      [out] y = MatMul(n, v)
    })");
  model.set_ir_version(ir);
  model.mutable_opset_import(0)->set_version(opset);
  addTensor(model, "w", {8, 6}, 1);
  addTensor(model, "gamma", {6}, 2);
  addTensor(model, "beta", {6}, 3);
  addTensor(model, "v", {6, 4}, 4);
  return model;
}

TEST(OnnxApply, StandardNormInAnOpsetThatHasIt) {
  const Folded folded = foldText(plain(23, 11), NormFlavour::Standard);
  expectSound(folded, 1);
  EXPECT_EQ(folded.ops, "MatMul,RMSNormalization,Add,MatMul");
  const auto& norm = folded.model.graph().node(1);
  EXPECT_EQ(norm.name(), "norm");
  EXPECT_EQ(norm.input(1), "gamma");
}

// The same with a bias behind, given by a node of its own or not.
ModelProto withBias(bool gemm) {
  ModelProto model = plain(23, 11);
  GraphProto& graph = *model.mutable_graph();
  NodeProto& last = *graph.mutable_node(2);
  if (gemm) {
    NodeProto& flat = *graph.add_node();
    flat = last;
    last.set_op_type("Reshape");
    last.set_name("flat");
    last.set_input(1, "rows");
    last.set_output(0, "r");
    flat.set_op_type("Gemm");
    flat.set_input(0, "r");
    flat.add_input("bias");
    flat.set_output(0, "y");
    TensorProto& rows = *graph.add_initializer();
    rows.set_name("rows");
    rows.set_data_type(TensorProto::INT64);
    rows.add_dims(2);
    rows.add_int64_data(6);
    rows.add_int64_data(6);
    auto* dims = graph.mutable_output(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    dims->clear_dim();
    dims->add_dim()->set_dim_value(6);
    dims->add_dim()->set_dim_value(4);
  } else {
    last.set_output(0, "product");
    NodeProto& add = *graph.add_node();
    add.set_op_type("Add");
    add.add_input("product");
    add.add_input("bias");
    add.add_output("y");
  }
  addTensor(model, "bias", {4}, 5);
  return model;
}

TEST(OnnxApply, BetaMovesIntoTheBiasBehind) {
  for (const auto& [flavour, norm] :
       {std::pair{NormFlavour::Standard, "RMSNormalization"},
        {NormFlavour::Ort, "SimplifiedLayerNormalization"},
        {NormFlavour::Primitives, "Constant,Pow,Constant,ReduceMean,Constant,Add,Sqrt,Div,Mul"}}) {
    const Folded product = foldText(withBias(false), flavour);
    EXPECT_LT(product.difference, 1e-5);
    EXPECT_EQ(product.ops, std::string("MatMul,") + norm + ",MatMul,Add");
    const Folded gemm = foldText(withBias(true), flavour);
    EXPECT_LT(gemm.difference, 1e-5);
    EXPECT_EQ(gemm.ops, std::string("MatMul,") + norm + ",Reshape,Gemm");
  }
}

TEST(OnnxApply, AStandardNormLiftsAnOlderModel) {
  const Folded folded = foldText(plain(17), NormFlavour::Standard);
  expectSound(folded, 1);
  EXPECT_EQ(folded.ops, "MatMul,RMSNormalization,Add,MatMul");
  EXPECT_EQ(folded.model.opset_import(0).version(), 23);
}

TEST(OnnxApply, PortableNormsLeaveTheOpsetAlone) {
  for (const int opset : {17, 18}) {
    const Folded folded = foldText(plain(opset), NormFlavour::Portable);
    EXPECT_EQ(folded.ops, foldText(plain(opset), NormFlavour::Primitives).ops);
    expectSound(folded, 1);
    EXPECT_EQ(folded.model.opset_import(0).version(), opset);
    EXPECT_EQ(folded.ops.find("RMS"), std::string::npos) << folded.ops;
  }
}

TEST(OnnxApply, OrtsOwnNorm) {
  const Folded folded = foldText(plain(17), NormFlavour::Ort);
  EXPECT_EQ(folded.norms, 1U);
  EXPECT_LT(folded.difference, 1e-5);
  EXPECT_EQ(folded.ops, "MatMul,SimplifiedLayerNormalization,Add,MatMul");
  EXPECT_EQ(folded.model.opset_import(0).version(), 17);
}

TEST(OnnxApply, UntouchedPartsAreBitEqual) {
  ModelProto model = plain(17);
  model.set_doc_string("a model");
  model.mutable_graph()->mutable_node(0)->set_doc_string("the first");
  const Folded folded = foldText(model, NormFlavour::Primitives);
  const auto& before = model.graph();
  const auto& after = folded.model.graph();
  EXPECT_EQ(after.node(0).SerializeAsString(), before.node(0).SerializeAsString());
  EXPECT_EQ(after.node(after.node_size() - 1).SerializeAsString(), before.node(2).SerializeAsString());
  EXPECT_NE(after.initializer(0).raw_data(), before.initializer(0).raw_data());
  for (int i = 1; i < 4; ++i) {
    EXPECT_EQ(after.initializer(i).SerializeAsString(), before.initializer(i).SerializeAsString());
  }
  EXPECT_EQ(folded.model.doc_string(), "a model");
}

TEST(OnnxApply, SkipNormKeepsItsSum) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    g (float[2, 3, 8] x) => (float[2, 3, 6] y) {
      a = MatMul(x, w)
      b = MatMul(x, v)
      [norm] n, none1, none2, sum = com.microsoft.SkipLayerNormalization <epsilon = 0.01> (a, b, gamma, beta, bias)
      c = MatMul(n, u)
      d = Add(sum, c)
      [last] y = LayerNormalization <axis = -1> (d, gamma)
    })");
  for (const char* name : {"w", "v"}) addTensor(model, name, {8, 6}, name[0]);
  addTensor(model, "u", {6, 6}, 5);
  for (const char* name : {"gamma", "beta", "bias"}) addTensor(model, name, {6}, name[0]);
  for (const bool named : {true, false}) {
    auto& skip = *model.mutable_graph()->mutable_node(2);
    for (const int statistic : {1, 2}) {
      if (!named) skip.set_output(statistic, "");
    }
    const Folded ort = foldText(model, NormFlavour::Fast);
    EXPECT_EQ(ort.norms, 2U);
    EXPECT_LT(ort.difference, 1e-5);
    EXPECT_EQ(ort.ops, "MatMul,MatMul,SkipSimplifiedLayerNormalization,Add,MatMul,SkipSimplifiedLayerNormalization");
    const Folded standard = foldText(model, NormFlavour::Standard);
    EXPECT_EQ(standard.norms, 2U);
    EXPECT_LT(standard.difference, 1e-5);
    EXPECT_EQ(standard.ops, "MatMul,MatMul,Add,Add,RMSNormalization,Add,MatMul,Add,RMSNormalization");
  }
}

// All that read the first norm read it centered: what the file itself has of it then is read by the centering alone.
TEST(OnnxApply, ASkipNormIsCenteredWhereItIsRead) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    g (float[2, 3, 8] x) => (float[2, 3, 6] y) {
      a = MatMul(x, w)
      b = MatMul(x, v)
      [first] n = com.microsoft.SkipLayerNormalization <epsilon = 0.01> (a, b, gamma, beta)
      [second] m = LayerNormalization <axis = -1> (n, gamma)
      c = MatMul(m, u)
      [last] y = com.microsoft.SkipLayerNormalization <epsilon = 0.01> (c, n, gamma, beta)
    })");
  for (const char* name : {"w", "v"}) addTensor(model, name, {8, 6}, name[0]);
  addTensor(model, "u", {6, 6}, 5);
  for (const char* name : {"gamma", "beta"}) addTensor(model, name, {6}, name[0]);
  expectSound(foldText(model, NormFlavour::Standard), 3);
}

TEST(OnnxApply, ASkipNormWhoseMeanIsReadStays) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    g (float[2, 3, 8] x) => (float[2, 3, 6] y, float[2, 3, 1] mean) {
      a = MatMul(x, w)
      b = MatMul(x, v)
      [norm] n, mean, deviation = com.microsoft.SkipLayerNormalization <epsilon = 0.01> (a, b, gamma, beta)
      c = MatMul(n, u)
      [last] y = LayerNormalization <axis = -1> (c, gamma)
    })");
  for (const char* name : {"w", "v"}) addTensor(model, name, {8, 6}, name[0]);
  addTensor(model, "u", {6, 6}, 5);
  for (const char* name : {"gamma", "beta"}) addTensor(model, name, {6}, name[0]);
  EXPECT_EQ(foldText(model, NormFlavour::Standard).ops, "MatMul,MatMul,SkipLayerNormalization,MatMul,RMSNormalization");
}

TEST(OnnxApply, WeightsInConstantNodesAndTypedFields) {
  ModelProto model = plain(17);
  auto& graph = *model.mutable_graph();
  // w becomes a Constant node, v's neighbour keeps its numbers in float_data.
  NodeProto constant;
  constant.set_op_type("Constant");
  constant.add_output("w");
  auto* value = constant.add_attribute();
  value->set_name("value");
  value->set_type(AttributeProto::TENSOR);
  TensorProto tensor = graph.initializer(0);
  tensor.clear_raw_data();
  const auto* numbers = reinterpret_cast<const float*>(graph.initializer(0).raw_data().data());
  tensor.mutable_float_data()->Add(numbers, numbers + 48);
  *value->mutable_t() = tensor;
  graph.mutable_initializer()->DeleteSubrange(0, 1);
  *graph.add_node() = constant;
  for (int i = graph.node_size() - 1; i > 0; --i) graph.mutable_node()->SwapElements(i, i - 1);
  const Folded folded = foldText(model, NormFlavour::Standard);
  expectSound(folded, 1);
  EXPECT_EQ(folded.ops, "Constant,MatMul,RMSNormalization,Add,MatMul");
  const auto& stored = folded.model.graph().node(0).attribute(0).t();
  EXPECT_EQ(stored.float_data_size(), 48);
  EXPECT_FALSE(stored.has_raw_data());
}

TEST(OnnxApply, SharedWeightIsSplitForItsOtherReaders) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3, 8] x) => (float[2, 3, 6] y, float[2, 3, 6] z) {
      h = MatMul(x, w)
      y = LayerNormalization <axis = -1> (h, gamma)
      r = Relu(x)
      k = MatMul(r, w)
      z = Relu(k)
    })");
  addTensor(model, "w", {8, 6}, 1);
  addTensor(model, "gamma", {6}, 2);
  for (const size_t large : {size_t{1}, size_t{100000}}) {
    const Folded folded = foldText(model, NormFlavour::Standard, analysis::Policy::All, large);
    expectSound(folded, 1);
    const auto& graph = folded.model.graph();
    EXPECT_EQ(graph.initializer_size(), 3);
    EXPECT_EQ(graph.initializer(0).SerializeAsString(), model.graph().initializer(0).SerializeAsString());
    EXPECT_EQ(graph.node(0).input(1), "w_centered");
    EXPECT_EQ(graph.node(3).input(1), "w");
  }
}

TEST(OnnxApply, AReadThatTheAnalysisDoesNotSeeKeepsTheOriginal) {
  // The bias is Clip's lower bound too.
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3, 8] x) => (float[2, 3, 6] y, float[2, 3, 8] z) {
      h = MatMul(x, w)
      k = Add(h, one)
      y = LayerNormalization <axis = -1> (k, gamma)
      z = Clip(x, one)
    })");
  addTensor(model, "w", {8, 6}, 1);
  addTensor(model, "gamma", {6}, 2);
  addTensor(model, "one", {}, 3);
  const Folded folded = foldText(model, NormFlavour::Standard);
  expectSound(folded, 1);
}

TEST(OnnxApply, RunTimeCenteringInOldAndNewOpsets) {
  for (const int opset : {17, 18}) {
    ModelProto model = modelFromText(R"(
      <ir_version: 8, opset_import: ["" : 17]>
      g (float[2, 3, 6] x) => (float[2, 3, 6] y) {
        a = LayerNormalization <axis = -1> (x, gamma)
        b = MatMul(a, w)
        c = Add(x, b)
        y = LayerNormalization <axis = -1> (c, gamma)
      })");
    model.mutable_opset_import(0)->set_version(opset);
    addTensor(model, "w", {6, 6}, 1);
    addTensor(model, "gamma", {6}, 2);
    const Folded folded = foldText(model, NormFlavour::Primitives);
    expectSound(folded, 2);
    EXPECT_NE(folded.ops.find("Sub"), std::string::npos);
  }
}

TEST(OnnxApply, AWeightThatIsAnOutputKeepsWhatItWas) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3, 8] x) => (float[2, 3, 6] y, float[8, 6] w) {
      h = MatMul(x, w)
      y = LayerNormalization <axis = -1> (h, gamma)
    })");
  addTensor(model, "w", {8, 6}, 1);
  addTensor(model, "gamma", {6}, 2);
  const Folded folded = foldText(model, NormFlavour::Standard);
  expectSound(folded, 1);
  EXPECT_EQ(folded.model.graph().initializer(0).SerializeAsString(), model.graph().initializer(0).SerializeAsString());
}

TEST(OnnxApply, StandardIsRefusedWhereTheLiftFails) {
  ModelProto model = plain(17);
  model.set_ir_version(3);
  for (const auto& tensor : model.graph().initializer()) {
    auto* input = model.mutable_graph()->add_input();
    input->set_name(tensor.name());
    auto* type = input->mutable_type()->mutable_tensor_type();
    type->set_elem_type(TensorProto::FLOAT);
    for (const auto dim : tensor.dims()) type->mutable_shape()->add_dim()->set_dim_value(dim);
  }
  EXPECT_THROW(foldText(model, NormFlavour::Standard), std::runtime_error);
  const Folded folded = foldText(model, NormFlavour::Portable);
  expectSound(folded, 1);
  EXPECT_EQ(folded.ops.find("RMS"), std::string::npos);
}

}  // namespace
}  // namespace normlens::formats::onnx
