// A residual Add and the norm behind it as one operator: where it may be, what the file then says, and that it means
// the same.
#include <gtest/gtest.h>

#include "core/analysis/analysis.h"
#include "tests/formats/onnx/edit/folded_model.h"
#include "tests/support/must.h"

namespace normlens::formats::onnx {
namespace {

EditedFile fuse(const ModelProto& model, const std::vector<std::vector<graph::Shape>>& inputs = {{{2, 3, 8}}}) {
  const auto edit = [](const OnnxModel& of, const analysis::Norms& norms) { return of.fuseNorms(norms, {}); };
  const EditedFile out = editedFile(model, edit, inputs, 1e-5);
  EXPECT_EQ(checkerSays(out.model), "");
  return out;
}

// Two linears of x, 6 features each; `body` goes on from p and q.
ModelProto twoBranches(const std::string& body, const std::string& outputs = "float[B, S, C] y",
                       const std::string& input = "float[B, S, 8] x") {
  ModelProto model =
      modelFromText(R"(<ir_version: 8, opset_import: ["" : 17]> g ()" + input + ") => (" + outputs + R"() {
      p = MatMul(x, w)
      q = MatMul(x, v)
    )" + body + "}");
  for (const char* name : {"w", "v"}) addTensor(model, name, {8, 6}, name[0]);
  addTensor(model, "u", {6, 6}, 7);
  addTensor(model, "plane", {3, 6}, 8);
  for (const char* name : {"gamma", "beta", "bias"}) addTensor(model, name, {6}, name[0]);
  return model;
}

const std::string kNorm = "[norm] y = LayerNormalization <axis = -1, epsilon = 0.01> (s, gamma, beta)\n";

TEST(FuseAdds, AnAddAndItsNormBecomeOneOperator) {
  const EditedFile fused = fuse(twoBranches("s = Add(p, q)" + kNorm));
  EXPECT_EQ(fused.ops, "MatMul,MatMul,SkipLayerNormalization");
  EXPECT_EQ(fused.names, std::vector<std::string>{"norm"});
  const NodeProto& node = fused.model.graph().node(2);
  EXPECT_EQ(node.name(), "norm");
  EXPECT_EQ(node.domain(), "com.microsoft");
  EXPECT_EQ(std::vector<std::string>(node.input().begin(), node.input().end()),
            (std::vector<std::string>{"p", "q", "gamma", "beta"}));
  EXPECT_EQ(node.output_size(), 1);
  ASSERT_EQ(node.attribute_size(), 1);
  EXPECT_EQ(node.attribute(0).name(), "epsilon");
  EXPECT_FLOAT_EQ(node.attribute(0).f(), 0.01F);
  ASSERT_EQ(fused.model.opset_import_size(), 2);
  EXPECT_EQ(fused.model.opset_import(1).domain(), "com.microsoft");
  EXPECT_EQ(fused.model.opset_import(1).version(), 1);
}

TEST(FuseAdds, TheUsualEpsIsWrittenDown) {
  const EditedFile fused = fuse(twoBranches("s = Add(p, q) y = LayerNormalization(s, gamma)"));
  ASSERT_EQ(fused.ops, "MatMul,MatMul,SkipLayerNormalization");
  EXPECT_EQ(fused.model.graph().node(2).input_size(), 3);
  EXPECT_FLOAT_EQ(fused.model.graph().node(2).attribute(0).f(), 1e-5F) << "that operator's own default is another";
}

TEST(FuseAdds, AStatisticsTypeThatIsWrittenDown) {
  EXPECT_EQ(fuse(twoBranches("s = Add(p, q) y = LayerNormalization <stash_type = 1> (s, gamma)")).ops,
            "MatMul,MatMul,SkipLayerNormalization");
}

TEST(FuseAdds, RmsNormsTakeTheirAddsInToo) {
  EXPECT_EQ(fuse(twoBranches("s = Add(p, q) y = SimplifiedLayerNormalization(s, gamma)")).ops,
            "MatMul,MatMul,SkipSimplifiedLayerNormalization");
  ModelProto standard = twoBranches("s = Add(p, q) y = RMSNormalization(s, gamma)");
  standard.mutable_opset_import(0)->set_version(23);
  standard.set_ir_version(11);
  EXPECT_EQ(fuse(standard).ops, "MatMul,MatMul,SkipSimplifiedLayerNormalization");
}

TEST(FuseAdds, ASumThatIsReadElsewhereKeepsItsName) {
  const EditedFile fused =
      fuse(twoBranches("s = Add(p, q) n = LayerNormalization(s, gamma) m = MatMul(n, u) y = Add(s, m)"));
  EXPECT_EQ(fused.ops, "MatMul,MatMul,SkipLayerNormalization,MatMul,Add");
  const NodeProto& node = fused.model.graph().node(2);
  EXPECT_EQ(std::vector<std::string>(node.output().begin(), node.output().end()),
            (std::vector<std::string>{"n", "", "", "s"}));
}

TEST(FuseAdds, ASumThatIsAnOutputKeepsItsName) {
  const EditedFile fused = fuse(twoBranches("s = Add(p, q)" + kNorm, "float[B, S, C] y, float[B, S, C] s"));
  EXPECT_EQ(fused.ops, "MatMul,MatMul,SkipLayerNormalization");
  EXPECT_EQ(fused.model.graph().node(2).output(3), "s");
}

TEST(FuseAdds, ASumThatIsReadBeforeTheNormIsMadeWhereItWas) {
  const EditedFile fused =
      fuse(twoBranches("s = Add(p, q) r = Relu(s) n = LayerNormalization(s, gamma) y = Add(r, n)"));
  EXPECT_EQ(fused.ops, "MatMul,MatMul,SkipLayerNormalization,Relu,Add");
  // A beta that is left out with an empty name, as an output further down is, is no reason to wait.
  ModelProto unnamed =
      twoBranches("s = Add(p, q) r, m = Dropout(s) n = LayerNormalization(s, gamma, beta) y = Add(r, n)");
  unnamed.mutable_graph()->mutable_node(3)->set_output(1, "");
  unnamed.mutable_graph()->mutable_node(4)->set_input(2, "");
  EXPECT_EQ(fuse(unnamed).ops, "MatMul,MatMul,SkipLayerNormalization,Dropout,Add");
  const EditedFile late =
      fuse(twoBranches("s = Add(p, q) r = Relu(s) g = Constant <value = float[6] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}> () "
                       "n = LayerNormalization(s, g) y = Add(r, n)"));
  EXPECT_EQ(late.ops, "MatMul,MatMul,Add,Relu,Constant,LayerNormalization,Add") << "gamma comes too late for that";
}

TEST(FuseAdds, AGammaFromAConstantNodeWillDo) {
  const EditedFile fused = fuse(twoBranches(
      "s = Add(p, q) g = Constant <value = float[6] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}> () y = LayerNormalization(s, g)"));
  EXPECT_EQ(fused.ops, "MatMul,MatMul,Constant,SkipLayerNormalization");
}

TEST(FuseAdds, AGammaThatNormsShareThroughAnIdentityWillDo) {
  const EditedFile fused = fuse(twoBranches("g = Identity(gamma) s = Add(p, q) y = LayerNormalization(s, g)"));
  EXPECT_EQ(fused.ops, "MatMul,MatMul,Identity,SkipLayerNormalization");
}

TEST(FuseAdds, WhatTheFileSaysOfASumThatIsGoneGoesToo) {
  ModelProto model = twoBranches("s = Add(p, q)" + kNorm);
  for (const char* name : {"s", "p"}) {
    auto* info = model.mutable_graph()->add_value_info();
    *info = model.graph().output(0);
    info->set_name(name);
  }
  const EditedFile fused = fuse(model);
  ASSERT_EQ(fused.model.graph().value_info_size(), 1);
  EXPECT_EQ(fused.model.graph().value_info(0).name(), "p");
}

std::vector<std::string> inputsOfNode(const ModelProto& model, int node) {
  const auto& inputs = model.graph().node(node).input();
  return {inputs.begin(), inputs.end()};
}

TEST(FuseAdds, TheBiasOfALinearGoesInToo) {
  const EditedFile fused = fuse(twoBranches("a = Add(q, bias) s = Add(p, a)" + kNorm));
  ASSERT_EQ(fused.ops, "MatMul,MatMul,SkipLayerNormalization");
  EXPECT_EQ(inputsOfNode(fused.model, 2), (std::vector<std::string>{"p", "q", "gamma", "beta", "bias"}));
  const EditedFile first =
      fuse(twoBranches("a = Add(bias, p) s = Add(a, q) n = LayerNormalization(s, gamma) y = Add(s, n)"));
  ASSERT_EQ(first.ops, "MatMul,MatMul,SkipLayerNormalization,Add");
  EXPECT_EQ(inputsOfNode(first.model, 2), (std::vector<std::string>{"p", "q", "gamma", "", "bias"}));
  const EditedFile rms = fuse(twoBranches("a = Add(q, bias) s = Add(p, a) y = SimplifiedLayerNormalization(s, gamma)"));
  ASSERT_EQ(rms.ops, "MatMul,MatMul,SkipSimplifiedLayerNormalization");
  EXPECT_EQ(inputsOfNode(rms.model, 2), (std::vector<std::string>{"p", "q", "gamma", "bias"}));
}

TEST(FuseAdds, OfTwoBiasesOneGoesIn) {
  const EditedFile fused = fuse(twoBranches("a = Add(p, bias) b = Add(q, beta) s = Add(a, b)" + kNorm));
  EXPECT_EQ(fused.ops, "MatMul,MatMul,Add,SkipLayerNormalization");
}

TEST(FuseAdds, ABiasThatIsNotTheSumsAloneStays) {
  EXPECT_EQ(fuse(twoBranches("a = Add(q, bias) s = Add(p, a) n = LayerNormalization(s, gamma) y = Add(n, a)")).ops,
            "MatMul,MatMul,Add,SkipLayerNormalization,Add");
  EXPECT_EQ(fuse(twoBranches("a = Add(q, bias) s = Add(p, a)" + kNorm, "float[B, S, C] y, float[B, S, C] a")).ops,
            "MatMul,MatMul,Add,SkipLayerNormalization");
  EXPECT_EQ(fuse(twoBranches("g = Neg(bias) a = Add(q, g) s = Add(p, a)" + kNorm)).ops,
            "MatMul,MatMul,Neg,Add,SkipLayerNormalization");
  EXPECT_EQ(fuse(twoBranches("a = Add(q, bias) s = Add(a, a)" + kNorm)).ops,
            "MatMul,MatMul,Add,SkipLayerNormalization");
}

// A batch of one could be repeated, and ONNX Runtime's operator does not do that as Add does.
TEST(FuseAdds, AtABatchOfOneTheSizesAreFollowed) {
  const EditedFile fused = fuse(twoBranches("s = Add(p, q)" + kNorm), {{{1, 3, 8}}, {{2, 3, 8}}, {{1, 1, 8}}});
  EXPECT_EQ(fused.names.size(), 1U);
  const EditedFile fixed =
      fuse(twoBranches("s = Add(p, q)" + kNorm, "float[1, 3, 6] y", "float[1, 3, 8] x"), {{{1, 3, 8}}});
  EXPECT_EQ(fixed.names.size(), 1U);
}

TEST(FuseAdds, InTheBranchesOfAnIf) {
  const std::string text = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[B, S, 8] x) => (float[B, S, C] y) {
      p = MatMul(x, w)
      q = MatMul(x, v)
      t = Add(p, q)
      two = ReduceSum <keepdims = 0> (x)
      nought = Constant <value_float = 0.0> ()
      positive = Greater(two, nought)
      y = If (positive) <
        then_branch = a () => (float[B, S, C] m) { s = Add(p, q) m = LayerNormalization(s, gamma) },
        else_branch = b () => (float[B, S, C] n) { n = LayerNormalization(t, gamma) }>
    })";
  ModelProto model = modelFromText(text);
  for (const char* name : {"w", "v"}) addTensor(model, name, {8, 6}, name[0]);
  addTensor(model, "gamma", {6}, 3);
  // The branch that the probe takes depends on the numbers; the sum of the other one stands outside.
  const auto opened = openedModel(model);
  must(opened->probe(drawn({{2, 3, 8}}, 1), {}));
  const auto fused = must(opened->fuseNorms(analysis::findNorms(opened->graph()), {}));
  for (uint64_t seed = 1; seed < 5; ++seed)
    EXPECT_LT(differenceOf(*opened, *fused.model, drawn({{2, 3, 8}}, seed)), 1e-5);
  const auto whole = wholeModel(dynamic_cast<const OnnxModel&>(*fused.model).source());
  EXPECT_EQ(opsOf(whole.graph()),
            "MatMul,MatMul,Add,ReduceSum,Constant,Greater,If{SkipLayerNormalization}{LayerNormalization}");
}

TEST(FuseAdds, FunctionsAreLeftAsTheyAre) {
  ModelProto model = modelFromText(R"(<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
    g (float[2, 3, 6] x, float[2, 3, 6] z) => (float[2, 3, 6] y) { y = own.normed(x, z, gamma) }
    <domain: "own", opset_import: ["" : 17]>
    normed (a, b, g) => (c) { s = Add(a, b) c = LayerNormalization(s, g) })");
  addTensor(model, "gamma", {6}, 3);
  const EditedFile fused = fuse(model, {{{2, 3, 6}, {2, 3, 6}}});
  EXPECT_TRUE(fused.names.empty());
  EXPECT_EQ(fused.model.SerializeAsString(), model.SerializeAsString());
}

// The same model with every float of another type.
ModelProto retyped(const ModelProto& model, graph::DType dtype) {
  return wholeModel(dynamic_cast<const OnnxModel&>(*must(openedModel(model)->converted(dtype))).source());
}

size_t fusedNorms(const ModelProto& model) {
  const auto opened = openedModel(model);
  must(opened->probe(drawn({{2, 3, 8}}, 1), {}));
  const auto fused = must(opened->fuseNorms(analysis::findNorms(opened->graph()), {}));
  EXPECT_TRUE(fused.model->run(drawn({{2, 3, 8}}, 1), {}));
  return fused.fused.size();
}

TEST(FuseAdds, InTheTypesThatTheOperatorHas) {
  const ModelProto model = twoBranches("s = Add(p, q)" + kNorm);
  EXPECT_EQ(fusedNorms(retyped(model, graph::DType::Float16)), 1U);
  EXPECT_EQ(fusedNorms(retyped(model, graph::DType::BFloat16)), 1U);
  EXPECT_EQ(fusedNorms(retyped(model, graph::DType::Float64)), 0U);
}

TEST(FuseAdds, WithoutAProbeNothingIsSure) {
  const auto opened = openedModel(twoBranches("s = Add(p, q)" + kNorm));
  EXPECT_TRUE(opened->fuseNorms(analysis::findNorms(opened->graph()), {})->fused.empty());
}

struct NearMiss {
  const char* name;
  std::string body, outputs = "float[B, S, C] y", input = "float[B, S, 8] x";
  std::vector<graph::Shape> shape = {{2, 3, 8}};
};

void PrintTo(const NearMiss& miss, std::ostream* out) { *out << miss.body; }

class LeftAlone : public testing::TestWithParam<NearMiss> {};

TEST_P(LeftAlone, AsItIs) {
  const NearMiss& miss = GetParam();
  const ModelProto model = twoBranches(miss.body, miss.outputs, miss.input);
  const EditedFile fused = fuse(model, {miss.shape});
  EXPECT_EQ(fused.ops, opsOf(model.graph()));
  EXPECT_TRUE(fused.names.empty());
  EXPECT_EQ(fused.model.SerializeAsString(), model.SerializeAsString());
}

const NearMiss kMisses[] = {
    {"BroadcastOverTheBatch", "z = Constant <value_int = 0> () r = Gather(q, z) s = Add(p, r)" + kNorm},
    {"BroadcastOverTheBatchTheOtherWayRound", "z = Constant <value_int = 0> () r = Gather(q, z) s = Add(r, p)" + kNorm},
    {"SumOfThree", "s = Sum(p, q, p)" + kNorm},
    {"SumOfTwo", "s = Sum(p, q)" + kNorm},
    {"OverTwoAxes", "s = Add(p, q) y = LayerNormalization <axis = -2> (s, plane)", "float[B, 3, 6] y",
     "float[B, 3, 8] x"},
    {"GammaForEachPlace", "s = Add(p, q) y = LayerNormalization(s, plane)", "float[B, 3, 6] y", "float[B, 3, 8] x"},
    {"ComputedGamma", "g = Neg(gamma) s = Add(p, q) y = LayerNormalization(s, g)"},
    {"TheMeanIsAnOutput", "s = Add(p, q) y, mean = LayerNormalization(s, gamma)",
     "float[B, S, C] y, float[B, S, 1] mean"},
    {"FourAxes", "s = Add(p, q)" + kNorm, "float[A, B, S, C] y", "float[A, B, S, 8] x", {{2, 2, 3, 8}}},
    {"OneAxis", "s = Add(p, q)" + kNorm, "float[C] y", "float[8] x", {{8}}},
    {"OneSumForAllRows",
     "a = ReduceMean <axes = [0]> (q) s = Add(p, a)" + kNorm,
     "float[B, S, C] y",
     "float[B, S, 8] x",
     {{1, 3, 8}}},
};

INSTANTIATE_TEST_SUITE_P(FuseAdds, LeftAlone, testing::ValuesIn(kMisses),
                         [](const auto& given) { return std::string(given.param.name); });

}  // namespace
}  // namespace normlens::formats::onnx
