// LayerNorms that are batch normalizations of the rows, as Keras 2 writes them: found, folded, made one operator, and
// left where the statistics are others or are handed on.
#include <gtest/gtest.h>

#include "core/analysis/norms/norms.h"
#include "core/run/inputs/draw.h"
#include "tests/formats/onnx/edit/folded_model.h"
#include "tests/support/must.h"

namespace normlens::formats::onnx {
namespace {

void addInts(ModelProto& model, const std::string& name, const std::vector<int64_t>& values) {
  auto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(TensorProto::INT64);
  tensor->add_dims(static_cast<int64_t>(values.size()));
  for (const int64_t value : values) tensor->add_int64_data(value);
}

// One line per part, so that a test can change one.
struct RowBatchNorm {
  std::string opset = "17";
  std::string rows = "rows = Reshape(h, as_rows)";
  std::string statistics = R"(mean = ReduceMean <axes = [0, 2, 3]> (rows)
      means = Squeeze(mean, others)
      centered = Sub(rows, mean)
      squares = ReduceSumSquare <axes = [0, 2, 3], keepdims = 0> (centered)
      row_shape = Shape(rows)
      counted = Gather(row_shape, others)
      all = ReduceProd <axes = [0], keepdims = 0> (counted)
      count = Cast <to = 1> (all)
      variances = Div(squares, count))";
  std::string norm = "[norm] normal = BatchNormalization <epsilon = 0.01> (rows, ones, zeros, means, variances)";
  std::string outputs = "float[n, 3, 6] y";

  [[nodiscard]] ModelProto model() const {
    ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : )" +
                                     opset + R"(]>
    g (float[n, 3, 8] x) => ()" + outputs +
                                     R"() {
      hw = MatMul(x, w)
      h = Add(hw, b)
      )" + rows + R"(
      shape = Shape(h)
      most = Slice(shape, first, second, first)
      number = ReduceProd <axes = [0]> (most)
      one_value = Constant <value_float = 1.0> ()
      zero_value = Constant <value_float = 0.0> ()
      ones = Expand(one_value, number)
      zeros = Expand(zero_value, number)
      )" + statistics + "\n      " + norm +
                                     R"(
      back = Reshape(normal, shape)
      scaled = Mul(back, gamma)
      y = Add(scaled, beta)
    })");
    addTensor(model, "w", {8, 6}, 1);
    addTensor(model, "b", {6}, 2);
    addTensor(model, "gamma", {6}, 3);
    addTensor(model, "beta", {6}, 4);
    addInts(model, "as_rows", {1, -1, 6, 1});
    addInts(model, "others", {0, 2, 3});
    addInts(model, "first", {0});
    addInts(model, "second", {2});
    return model;
  }
};

size_t normsIn(const ModelProto& model) {
  const auto opened = openedModel(model);
  static_cast<void>(opened->probe(must(run::drawInputs(must(opened->inferInputs()), 3)), {}));
  return analysis::findNorms(opened->graph()).layerNorms.size();
}

TEST(RowBatchNorms, BecomeRmsNorms) {
  for (const auto flavour : {NormFlavour::Portable, NormFlavour::Primitives, NormFlavour::Ort}) {
    const Folded folded = foldText(RowBatchNorm().model(), flavour, analysis::Policy::Free);
    EXPECT_EQ(folded.norms, 1U);
    EXPECT_LT(folded.difference, 1e-5);
    EXPECT_EQ(folded.ops.find("BatchNormalization"), std::string::npos) << folded.ops;
    EXPECT_EQ(folded.ops.find("Reshape"), std::string::npos) << folded.ops;
  }
  const Folded folded = foldText(RowBatchNorm().model(), NormFlavour::Standard, analysis::Policy::Free);
  EXPECT_EQ(folded.ops, "MatMul,Add,RMSNormalization,Add");
}

TEST(RowBatchNorms, NearMissesAreNone) {
  std::vector<RowBatchNorm> others(5);
  others[0].statistics = "means = Constant <value_floats = [0.5]> () variances = Constant <value_floats = [0.5]> ()";
  others[1].norm = "[norm] normal = BatchNormalization <epsilon = 0.01> (rows, ones, zeros, variances, means)";
  others[2].norm =
      "doubled = Add(variances, variances)\n"
      "[norm] normal = BatchNormalization <epsilon = 0.01> (rows, ones, zeros, means, doubled)";
  others[3].norm = "[norm] normal = BatchNormalization <epsilon = 0.01> (rows, variances, zeros, means, variances)";
  others[4].norm =
      "[norm] normal, running, more = BatchNormalization <epsilon = 0.01, training_mode = 1> (rows, ones, zeros, "
      "zeros, ones)";
  others[4].outputs = "float[n, 3, 6] y, float[m] running";
  for (const auto& other : others) EXPECT_EQ(normsIn(other.model()), 0U) << other.statistics << other.norm;
}

TEST(RowBatchNorms, BecomeOneLayerNorm) {
  const auto opened = openedModel(RowBatchNorm().model());
  must(opened->probe(must(run::drawInputs(must(opened->inferInputs()), 3)), {}));
  const auto joined = must(opened->joinNorms(analysis::findNorms(opened->graph()), {}));
  ASSERT_EQ(joined.fused.size(), 1U);
  EXPECT_EQ(opsOf(wholeModel(dynamic_cast<const OnnxModel&>(*joined.model).source()).graph()),
            "MatMul,Add,LayerNormalization");
}

}  // namespace
}  // namespace normlens::formats::onnx
