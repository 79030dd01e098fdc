// Functions that a model brings along: which nodes call them, and what is checked in them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "core/formats/onnx/lower/lower.h"
#include "tests/formats/onnx/onnx_fixture.h"
#include "tests/formats/onnx/read/read_fixture.h"
#include "tests/support/must.h"

namespace normlens::formats::onnx {
namespace {

using graph::Function;
using graph::OpKind;

// What y = NODE(x) becomes where a function of that name is a negation.
OpKind kindOfCall(int opset, const std::string& domain, const std::string& op) {
  const std::string version = std::to_string(opset);
  const std::string imports =
      "opset_import: [\"\": " + version + (domain.empty() ? "" : ", \"" + domain + "\": 1") + "]>";
  const auto model = lowerModel(
      sourceOf(modelFromText("<ir_version: 9, " + imports + " m (float[2, 8] x) => (float[2, 8] y) { y = " +
                             (domain.empty() ? "" : domain + ".") + op + "(x) } <domain: \"" + domain +
                             R"(", opset_import: ["": )" + version + "]> " + op + " (a) => (b) { b = Neg(a) }")),
      nullptr);
  return model.graph.nodes.back().kind;
}

TEST(LocalFunctions, OfTheNameOfAnOperatorThatTheRuntimeHasAreNotCalled) {
  EXPECT_EQ(kindOfCall(17, "", "Relu"), OpKind::Elementwise);
  EXPECT_EQ(kindOfCall(20, "", "Gelu"), OpKind::Elementwise);
  EXPECT_EQ(kindOfCall(13, "", "SimplifiedLayerNormalization"), OpKind::RmsNorm);
  EXPECT_EQ(kindOfCall(17, "com.microsoft", "Gelu"), OpKind::Elementwise);
  EXPECT_EQ(kindOfCall(17, "com.microsoft", "Inverse"), OpKind::Opaque);
  EXPECT_EQ(kindOfCall(17, "ai.onnx.ml", "Normalizer"), OpKind::Opaque);
}

TEST(LocalFunctions, OfAnyOtherNameAreCalled) {
  EXPECT_EQ(kindOfCall(17, "", "Gelu"), OpKind::Neg) << "since opset 20";
  EXPECT_EQ(kindOfCall(17, "", "Odd"), OpKind::Neg);
  EXPECT_EQ(kindOfCall(17, "com.microsoft", "Odd"), OpKind::Neg);
  EXPECT_EQ(kindOfCall(17, "own", "Relu"), OpKind::Neg);
}

class LocalFunctionsTest : public ReadTest {
 protected:
  // y = Reshape(x, s), and the shape s is an attribute of the function, for which this is the default.
  static ModelProto reshaping(TensorProto shape) {
    ModelProto model = modelFromText(R"(
      <ir_version: 9, opset_import: ["": 17, "own": 1]>
      m (float[4, 8] x) => (float[8, 4] y) { y = own.Reshaped(x) }
      <domain: "own", opset_import: ["": 17]>
      Reshaped (a) => (b) {
        s = Constant<value: tensor = @shape>()
        b = Reshape(a, s)
      })");
    auto* given = model.mutable_functions(0)->add_attribute_proto();
    given->set_name("shape");
    given->set_type(::ONNX_NAMESPACE::AttributeProto::TENSOR);
    *given->mutable_t() = std::move(shape);
    return model;
  }
  static TensorProto twoInts(const std::string& bytes) {
    TensorProto tensor;
    tensor.set_data_type(TensorProto::INT64);
    tensor.add_dims(2);
    if (!bytes.empty()) tensor.set_raw_data(bytes);
    return tensor;
  }
  static std::string shapeBytes() {
    const std::array<int64_t, 2> sizes{8, 4};
    return {reinterpret_cast<const char*>(sizes.data()), sizeof sizes};
  }
};

TEST_F(LocalFunctionsTest, DefaultsOfAttributesAreChecked) {
  TensorProto shape = twoInts(shapeBytes());
  EXPECT_EQ(refusal(reshaping(shape)), "");
  shape.set_dims(0, int64_t{1} << 26);
  const std::string words = refusal(reshaping(shape));
  EXPECT_NE(words.find("function 'Reshaped': a tensor of attribute 'shape' has 16 bytes"), std::string::npos) << words;
}

TEST_F(LocalFunctionsTest, DefaultsOfAttributesMayLieInFilesOfTheirOwn) {
  write(folder_ / "shape.data", shapeBytes());
  TensorProto shape = twoInts({});
  shape.set_data_location(TensorProto::EXTERNAL);
  auto* place = shape.add_external_data();
  place->set_key("location");
  place->set_value("shape.data");
  const auto opened = must(open(reshaping(shape)));
  EXPECT_EQ(opened->source().skeleton->functions(0).attribute_proto(0).t().raw_data(), shapeBytes());
}

TEST_F(LocalFunctionsTest, ImportOperatorsForThemselves) {
  ModelProto model = modelFromText(R"(
    <ir_version: 9, opset_import: ["own": 1]>
    m (float[4, 8] x) => (float[4, 8] y) { y = own.Positive(x) }
    <domain: "own", opset_import: ["": 17]>
    Positive (a) => (b) { b = Relu(a) })");
  EXPECT_EQ(refusal(model), "");
  model.mutable_graph()->mutable_node(0)->clear_domain();
  EXPECT_NE(refusal(model).find("domain 'ai.onnx', which the model does not import"), std::string::npos);
}

// Which functions of operators the reader names for the analysis.

// One operator of that domain or the standard one: input types, then the text of the nodes.
Lowered one(const std::string& inputs, const std::string& nodes, const std::string& domain = "com.microsoft") {
  return lowerModel(sourceOf(modelFromText(R"(<ir_version: 8, opset_import: ["": 17, ")" + domain + "\": 1]> m (" +
                                           inputs + ") => (float[A, B] y) { " + nodes + " }")),
                    nullptr);
}

TEST(OpFunctions, FunctionsThatAnAnalysisAsksForAreNamed) {
  const std::tuple<const char*, const char*, Function> cases[] = {
      {"float[2, 8] x, float p", "y = Pow(x, p)", Function::Power},
      {"float[2, 8] x", "y = Sqrt(x)", Function::SquareRoot},
      {"float[2, 8] x", "y = Reciprocal(x)", Function::Reciprocal},
      {"float[2, 8] x", "y = Relu(x)", Function::Relu},
      {"float[2, 8] x, float[2, 8] z", "y = Max(x, z)", Function::Maximum},
      {"float[2, 8] x, float[2, 8] z", "y = Min(x, z)", Function::Other},
      {"float[2, 8] x", "y = Round(x)", Function::Step},
      {"float[2, 8] x", "y = Cast<to = 1>(x)", Function::Cast},
      {"float[2, 8] x", "y = Cast<to = 11>(x)", Function::Cast},
      {"float[2, 8] x, float z", "y = CastLike(x, z)", Function::Cast},
      {"float[2, 8] x, int64[1] a", "y = Unsqueeze(x, a)", Function::Unsqueeze},
      {"float[2, 8] x", "y = ReduceProd(x)", Function::Product},
      {"float[2, 8] x", "y = ReduceMax(x)", Function::Other},
      {"float[2, 8] x", "y = Shape(x)", Function::Sizes},
      {"float[2, 8] x", "y = Size(x)", Function::Other},
      {"float[2, 8] x", "y = com.microsoft.QuickGelu(x)", Function::Other}};
  for (const auto& [inputs, node, function] : cases) {
    EXPECT_EQ(graph::functionName(one(inputs, node).graph.nodes.back().function), graph::functionName(function))
        << node;
  }
  // Another's operator of the same name may compute anything.
  const auto own = one("float[2, 8] x", "y = acme.Sqrt(x)", "acme");
  EXPECT_EQ(own.graph.nodes.back().kind, graph::OpKind::Opaque);
  EXPECT_EQ(own.graph.nodes.back().function, Function::Other);
}

TEST(OpFunctions, ABatchNormThatIsWrittenOutTakesARoot) {
  const auto model = one("float[2, 8, 4] x, float[8] g, float[8] b, float[8] m, float[8] v",
                         "a = Abs(m) c = Abs(v) y = BatchNormalization(x, g, b, a, c)");
  const auto root = std::ranges::find(model.part, "root") - model.part.begin();
  ASSERT_LT(static_cast<size_t>(root), model.part.size());
  EXPECT_EQ(model.graph.nodes[static_cast<size_t>(root)].function, Function::SquareRoot);
}

}  // namespace
}  // namespace normlens::formats::onnx
