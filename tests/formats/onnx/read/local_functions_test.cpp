// Functions that a model brings along: which nodes call them, and what is checked in them.
#include <array>

#include "core/formats/onnx/lower/lower.h"
#include "tests/formats/onnx/read/read_fixture.h"

namespace normlens::formats::onnx {
namespace {

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
  const auto opened = open(reshaping(shape));
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ((*opened)->source().skeleton->functions(0).attribute_proto(0).t().raw_data(), shapeBytes());
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

}  // namespace
}  // namespace normlens::formats::onnx
