// Folding norms inside functions, branches and loops.
#include <gtest/gtest.h>

#include "core/formats/onnx/edit/editable_model.h"
#include "tests/formats/onnx/edit/folded_model.h"

namespace normlens::formats::onnx {
namespace {

// A linear layer, and a call of the function local.norm of its output and gamma.
ModelProto callOfNorm(int opset, int ofFunction, const std::string& function) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : )" +
                                   std::to_string(opset) + R"(, "local" : 1]>
    g (float[2, 3, 8] x) => (float[2, 3, 6] y) {
      h = MatMul(x, w)
      y = local.norm(h, gamma)
    }
    <domain: "local", opset_import: ["" : )" +
                                   std::to_string(ofFunction) + "]> " + function);
  addTensor(model, "w", {8, 6}, 1);
  addTensor(model, "gamma", {6}, 2);
  return model;
}

TEST(OnnxApply, NormsInsideFunctionsAndBodies) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[2, 3, 8] x, float[6] gamma_in) => (float[2, 3, 6] y) {
      h = MatMul(x, w)
      a = local.block(h, gamma)
      k = MatMul(a, u)
      y = local.block(k, gamma)
    }
    <domain: "local", opset_import: ["" : 17]>
    block (s, g) => (t) { [norm] t = LayerNormalization <axis = -1> (s, g) })");
  model.mutable_graph()->mutable_input()->RemoveLast();
  addTensor(model, "w", {8, 6}, 1);
  addTensor(model, "u", {6, 6}, 2);
  addTensor(model, "gamma", {6}, 3);
  const Folded folded = foldText(model, NormFlavour::Portable);
  expectSound(folded, 2);
  EXPECT_EQ(folded.ops, "MatMul,block,MatMul,block");
  ASSERT_EQ(folded.model.functions_size(), 1);
  EXPECT_EQ(folded.model.functions(0).node(1).op_type(), "Pow");
}

// ReduceMean takes its axes otherwise in the two versions, what the function has is the same in both.
TEST(OnnxApply, AFunctionOfAnotherOpsetImportsThatOfTheModel) {
  const ModelProto model = callOfNorm(18, 17, "norm (s, g) => (t) { t = LayerNormalization <axis = -1> (s, g) }");
  const Folded folded = foldText(model, NormFlavour::Portable);
  expectSound(folded, 1);
  EXPECT_EQ(folded.model.functions(0).opset_import(0).version(), 18);
}

// Sub, Mul, Add and Div take more types in the model's version, and compute what they did.
TEST(OnnxApply, AFunctionOfAnOlderOpsetWithANormWrittenOut) {
  const ModelProto model = callOfNorm(17, 13, R"(norm (s, g) => (t) {
      m = ReduceMean <axes = [-1]> (s)
      c = Sub(s, m)
      q = Mul(c, c)
      v = ReduceMean <axes = [-1]> (q)
      e = Constant <value = float {1e-5}> ()
      d = Add(v, e)
      r = Sqrt(d)
      n = Div(c, r)
      t = Mul(n, g)
    })");
  const Folded folded = foldText(model, NormFlavour::Primitives);
  EXPECT_EQ(folded.norms, 1U);
  EXPECT_LT(folded.difference, 1e-5);
}

TEST(OnnxApply, AShiftThatTheCallOfAFunctionLeavesOut) {
  ModelProto model = callOfNorm(17, 17, "norm (s, g, b) => (t) { t = LayerNormalization <axis = -1> (s, g, b) }");
  model.mutable_graph()->mutable_node(1)->add_input("");
  expectSound(foldText(model, NormFlavour::Portable), 1);
}

TEST(OnnxApply, NoRuntimesOwnOperatorsInFunctions) {
  const ModelProto model = callOfNorm(17, 17, "norm (s, g) => (t) { t = LayerNormalization <axis = -1> (s, g) }");
  expectSound(foldText(model, NormFlavour::Ort), 1);
}

TEST(OnnxApply, NormsInBranchesShareAnOuterWeight) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (bool c, float[2, 3, 8] x) => (float[2, 3, 6] y) {
      h = MatMul(x, w)
      y = If (c) <
        then_branch = t () => (float[2, 3, 6] p) { p = LayerNormalization <axis = -1> (h, gamma, beta) },
        else_branch = e () => (float[2, 3, 6] q) { n = LayerNormalization <axis = -1> (h, gamma)  q = Relu(n) }>
    })");
  addTensor(model, "w", {8, 6}, 1);
  addTensor(model, "gamma", {6}, 2);
  addTensor(model, "beta", {6}, 3);
  const Folded folded = foldText(model, NormFlavour::Portable);
  expectSound(folded, 2);
  EXPECT_EQ(folded.ops, "MatMul,If{RMSNormalization,Add}{RMSNormalization,Relu}");
}

// One norm reads a linear layer of each slice, the other the slices of one that was made before.
TEST(OnnxApply, NormsInTheBodyOfAScan) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[4, 2, 8] x) => (float[2, 6] y) {
      h = MatMul(x, w)
      start = Constant <value = float[2, 6] {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}> ()
      y = Scan <num_scan_inputs = 2, body = step (float[2, 6] sum, float[2, 6] made, float[2, 8] slice)
                                            => (float[2, 6] next) {
        a = LayerNormalization <axis = -1> (made, gamma, beta)
        l = MatMul(slice, v)
        b = LayerNormalization <axis = -1> (l, gamma, beta)
        product = Mul(a, b)
        next = Add(sum, product)
      }> (start, h, x)
    })");
  addTensor(model, "w", {8, 6}, 1);
  addTensor(model, "v", {8, 6}, 2);
  addTensor(model, "gamma", {6}, 3);
  addTensor(model, "beta", {6}, 4);
  for (const auto policy : {analysis::Policy::Free, analysis::Policy::All}) {
    expectSound(foldText(model, NormFlavour::Primitives, policy), 2);
  }
}

}  // namespace
}  // namespace normlens::formats::onnx
