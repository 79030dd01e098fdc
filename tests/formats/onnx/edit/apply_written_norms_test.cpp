// Folding norms that are written out in ops, in the forms of several exporters: they lose what takes the mean out.
#include <gtest/gtest.h>

#include "tests/formats/onnx/edit/folded_model.h"

namespace normlens::formats::onnx {
namespace {

// In each style: one norm folds, ops of these names are gone, and those are kept.
void expectFolded(const ModelProto& model, const std::vector<std::string>& gone,
                  const std::vector<std::string>& kept = {}) {
  for (const auto flavour : {NormFlavour::Portable, NormFlavour::Primitives, NormFlavour::Ort}) {
    const Folded folded = foldText(model, flavour);
    expectSound(folded, 1);
    for (const auto& op : gone) EXPECT_EQ(folded.ops.find(op), std::string::npos) << folded.ops;
    for (const auto& op : kept) EXPECT_NE(folded.ops.find(op), std::string::npos) << folded.ops;
  }
}

TEST(WrittenNorms, DecomposedNormBecomesOneNode) {
  const Folded folded = foldText(decomposed(14), NormFlavour::Standard);
  expectSound(folded, 1);
  EXPECT_EQ(folded.ops, "MatMul,RMSNormalization,Add");
  EXPECT_EQ(folded.model.graph().node(1).name(), "norm");
}

// Before opset 21 the operator has a scale for each group, since then one for each channel.
TEST(WrittenNorms, AGroupNormalizationIsFoldedGroupByGroup) {
  for (const auto& [opset, scales] : {std::pair{18, 3}, {21, 12}}) {
    ModelProto model = modelFromText(R"(
      <ir_version: 10, opset_import: ["" : )" +
                                     std::to_string(opset) + R"(]>
      g (float[5, 8] x) => (float[5, 12] y) {
        hw = MatMul(x, w)
        h = Add(hw, b)
        y = GroupNormalization <num_groups = 3, epsilon = 0.01> (h, gamma, beta)
      })");
    addTensor(model, "w", {8, 12}, 1);
    addTensor(model, "b", {12}, 2);
    addTensor(model, "gamma", {scales}, 3);
    addTensor(model, "beta", {scales}, 4);
    SCOPED_TRACE(opset);
    expectFolded(model, {"GroupNormalization"});
  }
}

// The RMSNorm stays with its gamma, though a product with another one stands behind it.
TEST(WrittenNorms, ACenteredRmsNormLosesItsSubtraction) {
  ModelProto model = modelFromText(R"(
    <ir_version: 11, opset_import: ["" : 23]>
    g (float[2, 3, 8] x) => (float[2, 3, 6] y) {
      hw = MatMul(x, w)
      h = Add(hw, b)
      mean = ReduceMean(h, last)
      centered = Sub(h, mean)
      [norm] normal = RMSNormalization <axis = -1, epsilon = 0.01> (centered, gamma)
      scaled = Mul(normal, gamma2)
      y = Add(scaled, beta)
    })");
  int seed = 1;
  addTensor(model, "w", {8, 6}, seed);
  for (const char* name : {"b", "gamma", "gamma2", "beta"}) addTensor(model, name, {6}, ++seed);
  auto* axes = model.mutable_graph()->add_initializer();
  axes->set_name("last");
  axes->set_data_type(TensorProto::INT64);
  axes->add_dims(1);
  axes->add_int64_data(-1);
  for (const NormFlavour flavour :
       {NormFlavour::Portable, NormFlavour::Standard, NormFlavour::Ort, NormFlavour::Primitives}) {
    const Folded folded = foldText(model, flavour);
    expectSound(folded, 1);
    EXPECT_EQ(folded.ops, "MatMul,Add,RMSNormalization,Mul,Add");
  }
}

// As Flax writes it and tf2onnx exports it.
TEST(WrittenNorms, ANormWithTheMeanOfSquaresLosesItsSubtractions) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 15]>
    g (float[2, 3, 8] x) => (float[2, 3, 8] y) {
      h = MatMul(x, w)
      last = Constant <value = int64[1] {2}> ()
      eighth = Constant <value = float {0.125}> ()
      kept = Constant <value = int64[3] {2, 3, 1}> ()
      zero = Constant <value = float {0.0}> ()
      eps = Constant <value = float {0.01}> ()
      sum = ReduceSum <keepdims = 0> (h, last)
      mean = Mul(sum, eighth)
      squares = Mul(h, h)
      sumOfSquares = ReduceSum <keepdims = 0> (squares, last)
      meanOfSquares = Mul(sumOfSquares, eighth)
      squareOfMean = Mul(mean, mean)
      difference = Sub(meanOfSquares, squareOfMean)
      variance = Max(zero, difference)
      column = Reshape(mean, kept)
      spread = Expand(column, kept)
      centered = Sub(h, spread)
      varianceColumn = Reshape(variance, kept)
      shifted = Add(varianceColumn, eps)
      root = Sqrt(shifted)
      inverse = Reciprocal(root)
      scale = Mul(inverse, gamma)
      normal = Mul(centered, scale)
      y = Add(normal, beta)
    })");
  addTensor(model, "w", {8, 8}, 1);
  addTensor(model, "gamma", {1, 1, 8}, 2);
  addTensor(model, "beta", {1, 1, 8}, 3);
  expectFolded(model, {"Sub"}, {"Max"});
}

// As Flax writes it where it takes the variance in two passes, and jax2onnx exports it.
TEST(WrittenNorms, ANormWithASumOfSquaresInOneOpLosesItsSubtraction) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 15]>
    g (float[2, 3, 8] x) => (float[2, 3, 8] y, int64[3] sizes) {
      h = MatMul(x, w)
      last = Constant <value = int64[1] {2}> ()
      count = Constant <value = float {8.0}> ()
      eps = Constant <value = float {0.01}> ()
      row = Constant <value = int64[3] {1, 1, 8}> ()
      sum = ReduceSum (h, last)
      mean = Div(sum, count)
      sizes = Shape(mean)
      centered = Sub(h, mean)
      squares = ReduceSumSquare <axes = [2]> (centered)
      variance = Div(squares, count)
      shifted = Add(variance, eps)
      root = Sqrt(shifted)
      inverse = Reciprocal(root)
      gammaRow = Reshape(gamma, row)
      scale = Mul(inverse, gammaRow)
      normal = Mul(centered, scale)
      y = Add(normal, beta)
    })");
  addTensor(model, "w", {8, 8}, 1);
  addTensor(model, "gamma", {8}, 2);
  addTensor(model, "beta", {8}, 3);
  expectFolded(model, {"Sub"});
}

// log(sum(x)) and sqrt(sum(x * x)) are no variances.
TEST(WrittenNorms, ANormWithAnotherReductionIsNone) {
  for (const std::string reduction : {"ReduceL2", "ReduceL1", "ReduceLogSum", "ReduceProd"}) {
    ModelProto model = modelFromText(R"(
      <ir_version: 8, opset_import: ["" : 15]>
      g (float[2, 3, 8] x) => (float[2, 3, 8] y) {
        h = MatMul(x, w)
        count = Constant <value = float {8.0}> ()
        mean = ReduceMean <axes = [2]> (h)
        centered = Sub(h, mean)
        squares = )" + reduction + R"( <axes = [2]> (centered)
        variance = Div(squares, count)
        shifted = Add(variance, count)
        root = Sqrt(shifted)
        y = Div(centered, root)
      })");
    addTensor(model, "w", {8, 8}, 1);
    EXPECT_EQ(foldText(model, NormFlavour::Primitives).norms, 0U) << reduction;
  }
}

// Over the channels of an image. Gamma has a vector's shape for the last axis, which has as many elements.
TEST(WrittenNorms, ANormOverChannelsLosesItsSubtraction) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 15]>
    g (float[2, 3, 8, 8] x) => (float[2, 8, 8, 8] y) {
      h = Conv(x, w, b)
      two = Constant <value = float {2.0}> ()
      eps = Constant <value = float {0.01}> ()
      mean = ReduceMean <axes = [1]> (h)
      centered = Sub(h, mean)
      square = Pow(centered, two)
      variance = ReduceMean <axes = [1]> (square)
      shifted = Add(variance, eps)
      root = Sqrt(shifted)
      normal = Div(centered, root)
      scaled = Mul(normal, gamma)
      y = Add(scaled, beta)
    })");
  addTensor(model, "w", {8, 3, 1, 1}, 1);
  int seed = 1;
  for (const char* name : {"b", "gamma", "beta"}) addTensor(model, name, {8}, ++seed);
  expectFolded(model, {"Sub", "Normalization"});
}

// Gamma is along the norm's axis, the second norm along another one.
TEST(WrittenNorms, ACenteringBetweenANormAndItsGammaStaysThere) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3, 8] x) => (float[2, 6, 3] y) {
      h = MatMul(x, w)
      mean = ReduceMean <axes = [-1]> (h)
      centered = Sub(h, mean)
      two = Constant <value_float = 2.0> ()
      square = Pow(centered, two)
      variance = ReduceMean <axes = [-1]> (square)
      eps = Constant <value_float = 0.01> ()
      shifted = Add(variance, eps)
      root = Sqrt(shifted)
      normal = Div(centered, root)
      scaled = Mul(normal, gamma)
      turned = Transpose <perm = [0, 2, 1]> (scaled)
      y = LayerNormalization <axis = -1> (turned, gamma2)
    })");
  addTensor(model, "w", {8, 6}, 1);
  addTensor(model, "gamma", {6}, 2);
  addTensor(model, "gamma2", {3}, 3);
  for (const auto flavour : {NormFlavour::Portable, NormFlavour::Primitives}) {
    const Folded folded = foldText(model, flavour, analysis::Policy::All, 1024, "normal");
    expectSound(folded, 2);
    EXPECT_NE(folded.ops.find("Div"), std::string::npos) << folded.ops;
    EXPECT_LT(folded.ops.find("Sub"), folded.ops.rfind("Mul")) << folded.ops;
  }
}

}  // namespace
}  // namespace normlens::formats::onnx
