// Folding norms inside functions, branches and loops, and edits at places that the graph has and the file lacks, or has
// in another form.
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
  const Folded folded = foldText(model, NormFlavour::Standard);
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

// One centering of the state serves both norms; the body has no condition to return before it.
TEST(OnnxPlaces, TheStateOfAScanIsCenteredWhereItsBodyReturnsIt) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[4, 2, 6] x) => (float[4, 2, 6] y) {
      zeros = Constant <value = float[2, 6] {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}> ()
      last, y = Scan <num_scan_inputs = 1, body = step (float[2, 6] h, float[2, 6] s)
                                                    => (float[2, 6] next, float[2, 6] out) {
        a = LayerNormalization <axis = -1> (h, gamma, beta)
        b = LayerNormalization <axis = -1> (h, gamma2, beta)
        sum = Add(a, b)
        out = Relu(sum)
        product = MatMul(s, w)
        r = Relu(product)
        next = Add(h, r)
      }> (zeros, x)
    })");
  addTensor(model, "w", {6, 6}, 1);
  addTensor(model, "gamma", {6}, 2);
  addTensor(model, "gamma2", {6}, 3);
  addTensor(model, "beta", {6}, 4);
  for (const auto flavour : {NormFlavour::Portable, NormFlavour::Primitives}) expectSound(foldText(model, flavour), 2);
}

// One centering of h serves both norms: it stands before the If.
TEST(OnnxPlaces, AValueReadInABranchAndBesideItIsCenteredBeforeTheBranch) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3, 6] x) => (float[2, 3, 6] y) {
      h = Relu(x)
      a = LayerNormalization <axis = -1> (h, gamma, beta)
      zero = Constant <value = float {0}> ()
      sum = ReduceSum <keepdims = 0> (h)
      flag = Greater(sum, zero)
      b = If <then_branch = yes () => (float[2, 3, 6] n) { n = LayerNormalization <axis = -1> (h, gamma2, beta) },
              else_branch = no () => (float[2, 3, 6] e) { e = Identity(a) }> (flag)
      y = Add(a, b)
    })");
  addTensor(model, "gamma", {6}, 1);
  addTensor(model, "gamma2", {6}, 2);
  addTensor(model, "beta", {6}, 3);
  for (const auto flavour : {NormFlavour::Portable, NormFlavour::Primitives}) expectSound(foldText(model, flavour), 2);
}

// The cheapest place would be the sum of the first two.
TEST(OnnxPlaces, WhatASumAddsUpFirstIsNotCentered) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 1, 6] p, float[2, 1, 6] q, float[2, 5, 8] x) => (float[2, 5, 6] y) {
      t = Relu(p)
      c = Relu(q)
      h = MatMul(x, w)
      s = Sum(t, c, h)
      y = LayerNormalization <axis = -1> (s, gamma, beta)
    })");
  addTensor(model, "w", {8, 6}, 1);
  addTensor(model, "gamma", {6}, 2);
  addTensor(model, "beta", {6}, 3);
  expectSound(foldText(model, NormFlavour::Standard), 1);
}

TEST(OnnxPlaces, AnEmbeddingNormWithoutSegmentIdsKeepsItsFirstSegment) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    g (int32[2, 3] ids) => (float[2, 3, 6] y) {
      y, mask = com.microsoft.EmbedLayerNormalization <epsilon = 0.01> (ids, , words, places, segments, gamma, beta)
    })");
  addTensor(model, "words", {5, 6}, 1);
  addTensor(model, "places", {4, 6}, 2);
  addTensor(model, "segments", {2, 6}, 3);
  addTensor(model, "gamma", {6}, 4);
  addTensor(model, "beta", {6}, 5);
  for (const auto flavour : {NormFlavour::Portable, NormFlavour::Primitives}) expectSound(foldText(model, flavour), 1);
}

// The fold no longer asks for the number that the call gives; the other call's number stays.
TEST(OnnxPlaces, AConstantThatTheCallGivesIsWrittenIntoTheFunction) {
  struct Case {
    std::string attribute, given, other;
  };
  for (const Case& test :
       {Case{"value_float: float", "alpha = 0.7", "alpha = 0.5"},
        {"value_floats: floats", "alpha = [0.7, 0.2, 0.1]", "alpha = [0.5, 0.6, 0.9]"},
        {"value: tensor", "alpha: tensor = float[3] {0.7, 0.2, 0.1}", "alpha: tensor = float {0.5}"}}) {
    ModelProto model = modelFromText(R"(
      <ir_version: 8, opset_import: ["" : 17, "local" : 1]>
      g (float[2, 5, 8] x) => (float[2, 5, 3] z) {
        h = MatMul(x, w)
        a = local.shifted <)" + test.given +
                                     R"(> (h)
        y = LayerNormalization <axis = -1> (a, gamma, beta)
        z = local.shifted <)" + test.other +
                                     R"(> (y)
      }
      <domain: "local", opset_import: ["" : 17]>
      shifted <alpha> (i) => (o) {
        c = Constant <)" + test.attribute +
                                     R"( = @alpha> ()
        o = Add(i, c)
      })");
    addTensor(model, "w", {8, 3}, 1);
    addTensor(model, "gamma", {3}, 2);
    addTensor(model, "beta", {3}, 3);
    expectSound(foldText(model, NormFlavour::Portable), 1);
  }
}

TEST(OnnxPlaces, AWeightThatAnUnknownOperatorsBodyReadsStaysForIt) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3, 8] x, float[2, 8] k) => (float[2, 3, 6] y, float[2, 6] z) {
      h = MatMul(x, w)
      y = LayerNormalization <axis = -1> (h, gamma, beta)
      given = SequenceConstruct(k)
      made = SequenceMap <body = step (float[2, 8] one) => (float[2, 6] product) { product = MatMul(one, w) }> (given)
      zero = Constant <value = int64 {0}> ()
      z = SequenceAt(made, zero)
    })");
  addTensor(model, "w", {8, 6}, 1);
  addTensor(model, "gamma", {6}, 2);
  addTensor(model, "beta", {6}, 3);
  const Folded folded = foldText(model, NormFlavour::Primitives);
  expectSound(folded, 1);
  EXPECT_EQ(folded.model.graph().initializer(0).SerializeAsString(), model.graph().initializer(0).SerializeAsString());
  EXPECT_EQ(folded.model.graph().node(0).input(1), "w_centered");
}

// Its form in newer versions works on another axis.
TEST(OnnxPlaces, PortableStaysInAnOpsetThatANodeCannotLeave) {
  ModelProto model = decomposed(12);
  GraphProto& graph = *model.mutable_graph();
  graph.mutable_node(graph.node_size() - 1)->set_output(0, "normed");
  NodeProto& choice = *graph.add_node();
  choice.set_op_type("Hardmax");
  choice.add_input("normed");
  choice.add_output("y");
  const Folded folded = foldText(model, NormFlavour::Portable);
  expectSound(folded, 1);
  EXPECT_EQ(folded.model.opset_import(0).version(), 12);
  EXPECT_EQ(folded.ops.find("RMS"), std::string::npos) << folded.ops;
  EXPECT_THROW(foldText(model, NormFlavour::Standard), std::runtime_error);
}

}  // namespace
}  // namespace normlens::formats::onnx
