// Norms that are written out as several nodes become one operator: what the file then says, and that it means the same.
#include <gtest/gtest.h>

#include "core/analysis/norms/norms.h"
#include "tests/formats/onnx/edit/folded_model.h"
#include "tests/support/must.h"

namespace normlens::formats::onnx {
namespace {

EditedFile join(const ModelProto& model, double tolerance = 1e-5) {
  const auto edit = [](const OnnxModel& of, const analysis::Norms& norms) { return of.joinNorms(norms, {}); };
  return editedFile(model, edit, {{{2, 3, 8}}, {{4, 5, 8}}}, tolerance);
}

// h has 6 features; `body` goes on from it to y.
ModelProto withBody(const std::string& body, int opset = 18, const std::string& outputs = "float[B, S, C] y") {
  ModelProto model = modelFromText(R"(<ir_version: 8, opset_import: ["" : 18]> g (float[B, S, 8] x) => ()" + outputs +
                                   ") { h = MatMul(x, w) " + body + "}");
  model.mutable_opset_import(0)->set_version(opset);
  addTensor(model, "w", {8, 6}, 1);
  for (const char* name : {"gamma", "beta"}) addTensor(model, name, {6}, name[0]);
  return model;
}

const std::string kSquare = R"(
  two = Constant <value_float = 2.0> ()
  eps = Constant <value_float = 0.01> ()
  square = Pow(c, two)
  variance = ReduceMean <axes = [-1]> (square)
  shifted = Add(variance, eps)
  root = Sqrt(shifted)
)";
const std::string kLayer = "mean = ReduceMean <axes = [-1]> (h) c = Sub(h, mean)" + kSquare +
                           "[norm] n = Div(c, root) m = Mul(n, gamma) y = Add(m, beta)";
const std::string kRms = "c = Identity(h)" + kSquare + "n = Div(c, root) [norm] y = Mul(gamma, n)";

TEST(JoinNorms, ALayerNorm) {
  const EditedFile joined = join(withBody(kLayer, 17));
  EXPECT_EQ(joined.ops, "MatMul,LayerNormalization");
  EXPECT_EQ(joined.names, std::vector<std::string>{"norm"});
  const NodeProto& node = joined.model.graph().node(1);
  EXPECT_EQ(node.name(), "norm");
  EXPECT_EQ(std::vector<std::string>(node.input().begin(), node.input().end()),
            (std::vector<std::string>{"h", "gamma", "beta"}));
  EXPECT_EQ(node.output(0), "y");
  EXPECT_EQ(checkerSays(joined.model), "");
}

TEST(JoinNorms, ALayerNormInAnOpsetThatHasNoOperatorForIt) {
  const EditedFile joined = join(withBody(kLayer, 14));
  EXPECT_EQ(joined.ops, "MatMul,LayerNormalization");
  EXPECT_EQ(joined.model.opset_import(0).version(), 17);
  EXPECT_EQ(joined.model.ir_version(), 8);
  EXPECT_EQ(checkerSays(joined.model), "");
}

// Keras keeps them so. What nobody reads any more goes.
TEST(JoinNorms, GammaAndBetaWithAxesOfOneInFront) {
  ModelProto model = withBody(kLayer, 17);
  for (int i = 1; i <= 2; ++i) {
    auto& dims = *model.mutable_graph()->mutable_initializer(i)->mutable_dims();
    dims.Clear();
    for (const int64_t size : {1, 1, 6}) dims.Add(size);
  }
  const EditedFile joined = join(model);
  EXPECT_EQ(joined.ops, "MatMul,LayerNormalization");
  EXPECT_EQ(checkerSays(joined.model), "");
  ASSERT_EQ(joined.model.graph().initializer_size(), 3);
  for (int i = 1; i <= 2; ++i) {
    EXPECT_EQ(joined.model.graph().initializer(i).dims_size(), 1);
    EXPECT_EQ(joined.model.graph().initializer(i).name(), joined.model.graph().node(1).input(i));
  }
  const EditedFile old = join([&] {
    ModelProto early = model;
    early.set_ir_version(3);
    for (const auto& tensor : model.graph().initializer()) {
      auto& input = *early.mutable_graph()->add_input();
      input.set_name(tensor.name());
      auto& type = *input.mutable_type()->mutable_tensor_type();
      type.set_elem_type(TensorProto::FLOAT);
      for (const int64_t size : tensor.dims()) type.mutable_shape()->add_dim()->set_dim_value(size);
    }
    return early;
  }());
  EXPECT_TRUE(old.names.empty()) << "an initializer would have to be an input";
}

TEST(JoinNorms, AnRmsNorm) {
  const EditedFile old = join(withBody(kRms, 17));
  EXPECT_EQ(old.ops, "MatMul,Identity,SimplifiedLayerNormalization");
  EXPECT_EQ(old.names, std::vector<std::string>{"norm"});
}

TEST(JoinNorms, AnRmsNormInAnOpsetThatHasIt) {
  ModelProto model = withBody(R"(
    eps = Constant <value_float = 0.01> ()
    axes = Constant <value_ints = [-1]> ()
    square = Mul(h, h)
    mean = ReduceMean(square, axes)
    shifted = Add(mean, eps)
    root = Sqrt(shifted)
    inverse = Reciprocal(root)
    n = Mul(h, inverse)
    y = Mul(n, gamma))",
                              23);
  model.set_ir_version(11);
  const EditedFile joined = join(model);
  EXPECT_EQ(joined.ops, "MatMul,RMSNormalization");
  EXPECT_EQ(checkerSays(joined.model), "");
}

TEST(JoinNorms, WithCastsToFloatAndBack) {
  ModelProto model = withBody(R"(
    k = Cast <to = 10> (h)
    f = Cast <to = 1> (k)
    eps = Constant <value_float = 0.01> ()
    square = Mul(f, f)
    mean = ReduceMean <axes = [-1]> (square)
    shifted = Add(mean, eps)
    root = Sqrt(shifted)
    n = Div(f, root)
    narrow = Cast <to = 10> (n)
    [norm] m = Mul(narrow, half)
    y = Cast <to = 1> (m))",
                              17);
  auto& half = *model.mutable_graph()->add_initializer();
  half.set_name("half");
  half.set_data_type(TensorProto::FLOAT16);
  half.add_dims(6);
  for (int i = 0; i < 6; ++i) half.add_int32_data(graph::floatToHalf(0.5F + static_cast<float>(i)));
  constexpr double kHalf = 4e-3;
  EXPECT_EQ(join(model, kHalf).ops, "MatMul,Cast,SimplifiedLayerNormalization,Cast");
}

TEST(JoinNorms, WithoutGammaItIsLeftAlone) {
  EXPECT_TRUE(join(withBody("c = Identity(h)" + kSquare + "y = Div(c, root)", 17)).names.empty());
}

// As the fold does it: LayerNormalization may stand in a function, an operator of ONNX Runtime's own may not.
TEST(JoinNorms, InsideAFunction) {
  for (const bool layer : {true, false}) {
    ModelProto model = modelFromText(R"(<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
      g (float[B, S, 8] x) => (float[B, S, C] y) { h = MatMul(x, w) y = own.Norm(h, gamma, beta) }
      <domain: "own", opset_import: ["" : 17]> Norm (h, gamma, beta) => (y) {)" +
                                     (layer ? kLayer : kRms) + "}");
    addTensor(model, "w", {8, 6}, 1);
    for (const char* name : {"gamma", "beta"}) addTensor(model, name, {6}, name[0]);
    const EditedFile joined = join(model);
    EXPECT_EQ(joined.names.size(), layer ? 1U : 0U);
    ASSERT_EQ(joined.model.functions_size(), 1);
    if (!layer) continue;
    ASSERT_EQ(joined.model.functions(0).node_size(), 1);
    EXPECT_EQ(joined.model.functions(0).node(0).op_type(), "LayerNormalization");
  }
}

}  // namespace
}  // namespace normlens::formats::onnx
