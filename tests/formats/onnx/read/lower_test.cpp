// What each operator becomes in the graph, and the way back to the file; functions that a model brings along.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "core/analysis/analysis.h"
#include "core/formats/onnx/lower/lower.h"
#include "tests/formats/onnx/onnx_fixture.h"
#include "tests/formats/onnx/read/read_fixture.h"
#include "tests/support/must.h"

namespace normlens::formats::onnx {

using graph::Node;

namespace {

Lowered lowered(const ModelProto& model) {
  Lowered out = lowerModel(sourceOf(model), nullptr);
  const auto sound = graph::checkGraph(out.graph);
  EXPECT_TRUE(sound) << sound.error().message;
  return out;
}

Lowered lowered(std::string_view text) { return lowered(modelFromText(text)); }

// "Add Permute[2] ...": kinds in order, with the parts of fused operators in brackets.
std::string kindsOf(const Lowered& model) {
  std::string out;
  for (const auto id : model.graph.executionOrder()) {
    const auto& part = model.part[static_cast<size_t>(id)];
    out += (out.empty() ? "" : " ") + std::string(graph::opKindName(model.graph.node(id).kind));
    if (!part.empty()) out += "[" + part + "]";
  }
  return out;
}

const Node& last(const Lowered& model) { return model.graph.nodes.back(); }

// One operator: opset, input types, then the text of the node.
Lowered one(int opset, const std::string& inputs, const std::string& node,
            const std::string& domain = "com.microsoft") {
  return lowered("<ir_version: 8, opset_import: [\"\": " + std::to_string(opset) + ", \"" + domain + "\": 1]> m (" +
                 inputs + ") => (float[A, B] y) { " + node + " }");
}

using graph::OpKind;

TEST(Lower, LayerNormalization) {
  const auto model = one(17, "float[2, 3, 8] x, float[3, 8] g, float[3, 8] b",
                         "y, m, v = LayerNormalization<axis = 1, epsilon = 0.5>(x, g, b)");
  ASSERT_EQ(kindsOf(model), "LayerNorm");
  EXPECT_EQ(graph::intsAttribute(last(model), "axes"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(graph::floatAttribute(last(model), "eps"), 0.5);
  EXPECT_EQ(last(model).outputs.size(), 3U);
  EXPECT_EQ(last(model).operands.size(), 3U);
}

TEST(Lower, SizesOfAnInputAreThoseThatTheFileFixes) {
  ModelProto model = modelFromText(R"(<ir_version: 8, opset_import: ["": 17]>
    m (float[B, 1, 8] x, float[] any, float s, float[K, 1] w, float[8] v) => (float[B, 1, 8] y)
    <float[1, 1] w = {1}, float[8] v = {1, 2, 3, 4, 5, 6, 7, 8}, float[1] u = {3}>
    { a = Mul(x, w)  b = Mul(a, v)  c = Mul(b, any)  d = Mul(c, s)  y = Mul(d, u) })");
  model.mutable_graph()->mutable_input(1)->mutable_type()->mutable_tensor_type()->clear_shape();
  const auto declared = [&](const Lowered& read, std::string_view name) {
    const auto& values = read.graph.values;
    const auto found = std::ranges::find(values, name, &graph::Value::name);
    return found == values.end() ? std::optional(graph::Shape{-2}) : found->declared;
  };
  const Lowered read = lowered(model);
  EXPECT_EQ(declared(read, "x"), (graph::Shape{-1, 1, 8}));
  EXPECT_EQ(declared(read, "any"), std::nullopt);
  EXPECT_EQ(declared(read, "s"), std::nullopt);  // ONNX Runtime takes a tensor of any shape for it
  EXPECT_EQ(declared(read, "w"), (graph::Shape{-1, 1}));
  EXPECT_EQ(declared(read, "v"), graph::Shape{8});
  EXPECT_EQ(declared(read, "u"), std::nullopt);  // no input
  EXPECT_EQ(declared(read, "a"), std::nullopt);
}

TEST(Lower, OutputsKeepTheNamesOfTheFile) {
  const auto model =
      lowered(R"(<ir_version: 8, opset_import: ["": 17]> m (float[2, 8] x) => (float[2, 8] logits, float[2, 8] x)
    { logits = Relu(x) })");
  EXPECT_EQ(model.graph.outputNames, (std::vector<std::string>{"logits", "x"}));
  EXPECT_EQ(model.graph.outputs().size(), 2U);
}

TEST(Lower, NormsThatDoNotFitAreOpaque) {
  EXPECT_EQ(kindsOf(one(17, "float[2, 8] x, float[5] g", "y = LayerNormalization(x, g)")), "Opaque");
  EXPECT_EQ(kindsOf(one(17, "float[2, 8] x, float[8] g", "y = LayerNormalization<axis = 7>(x, g)")), "Opaque");
  EXPECT_EQ(kindsOf(one(17, "float[2, 8] x, float[8] g", "y = LayerNormalization<epsilon = -1.0>(x, g)")), "Opaque");
  EXPECT_EQ(kindsOf(one(17, "float[2, 8] x, float[1] g", "y = LayerNormalization(x, g)")), "LayerNorm");
}

TEST(Lower, SkipLayerNormalization) {
  const auto model = one(17, "float[2, 3, 8] x, float[2, 3, 8] s, float[8] g, float[8] b, float[8] c",
                         "y, m, v, t = com.microsoft.SkipLayerNormalization(x, s, g, b, c)");
  ASSERT_EQ(kindsOf(model), "Add[skip] Add[bias] LayerNorm");
  EXPECT_TRUE(graph::boolAttribute(last(model), "fused"));
  const auto sum = model.graph.nodes[1].outputs[0];
  EXPECT_EQ(model.valuePath[static_cast<size_t>(sum)], "t");
  EXPECT_EQ(model.graph.value(sum).shape, (graph::Shape{2, 3, 8}));
  EXPECT_EQ(model.operandSites[0][1].input, 1);
  EXPECT_EQ(model.operandSites[1][0].input, -1);
  EXPECT_EQ(model.operandSites[1][1].input, 4);
  EXPECT_EQ(model.operandSites[2][2].input, 3);
  for (const auto& path : model.nodePath) EXPECT_EQ(path, (NodePath{{0, {}}}));
  const auto norms = analysis::findNorms(model.graph);
  ASSERT_EQ(norms.layerNorms.size(), 1U);
  EXPECT_EQ(norms.layerNorms[0].form, analysis::NormForm::Fused);
}

TEST(Lower, EmbedLayerNormalization) {
  const auto model =
      one(17, "int32[2, 5] i, int32[2, 5] s, float[9, 8] w, float[7, 8] p, float[2, 8] t, float[8] g, float[8] b",
          "y, k = com.microsoft.EmbedLayerNormalization(i, s, w, p, t, g, b)");
  ASSERT_EQ(
      kindsOf(model),
      "Gather[words] Slice[positions] Gather[segments] Opaque[mask] Add[add positions] Add[add segments] LayerNorm");
  EXPECT_EQ(model.graph.value(model.graph.nodes[1].outputs[0]).shape, (graph::Shape{5, 8}));
  EXPECT_EQ(model.graph.value(model.graph.nodes[5].outputs[0]).shape, (graph::Shape{2, 5, 8}));
  const auto first = one(17, "int32[2, 5] i, float[9, 8] w, float[7, 8] p, float[2, 8] t, float[8] g, float[8] b",
                         "y = com.microsoft.EmbedLayerNormalization(i, , w, p, t, g, b)");
  ASSERT_EQ(kindsOf(first),
            "Gather[words] Slice[positions] Slice[segments] Add[add positions] Add[add segments] LayerNorm");
  EXPECT_EQ(first.graph.value(first.graph.nodes[2].outputs[0]).shape, (graph::Shape{1, 8}));
}

TEST(Lower, ProductsOfMatrices) {
  auto linear = modelFromText(
      R"(<ir_version: 8, opset_import: ["": 17]> m (float[2, 4] x) => (float[2, 8] y) { y = Gemm<transB = 1>(x, W, b) })");
  addTensor(linear, "W", {8, 4}, 1);
  addTensor(linear, "b", {8}, 2);
  EXPECT_EQ(kindsOf(lowered(linear)), "Linear");
  EXPECT_EQ(kindsOf(one(17, "float[2, 4] x, float[4, 8] w, float[8] b", "y = Gemm(x, w, b)")), "AddMatMul");
  EXPECT_EQ(kindsOf(one(17, "float[4, 2] x, float[8, 4] w", "y = Gemm<transA = 1, transB = 1>(x, w)")),
            "Permute[transposed A] Permute[transposed B] MatMul");
  EXPECT_EQ(kindsOf(one(17, "float[2, 4] x, float[4, 8] w", "y = Gemm<beta = 0.0>(x, w)")), "MatMul");
  EXPECT_EQ(kindsOf(one(17, "float[2, 4] x, float[4, 8] w, float[8] b", "y = Gemm<beta = 0.0>(x, w, b)")), "Opaque");
  const auto scaled = one(17, "float[2, 4] x, float[8, 4] w, float[8] b", "y = Gemm<transB = 1, beta = 2.0>(x, w, b)");
  EXPECT_EQ(kindsOf(scaled), "Permute[transposed B] AddMatMul");
  EXPECT_EQ(graph::floatAttribute(last(scaled), "beta"), 2.0);
  EXPECT_EQ(last(scaled).operands[0], scaled.graph.inputs()[2]);
  EXPECT_EQ(kindsOf(one(17, "float[3, 2, 4] x, float[3, 8, 4] w",
                        "y = com.microsoft.FusedMatMul<transB = 1, alpha = 0.5>(x, w)")),
            "Permute[transposed B] MatMul");
  EXPECT_EQ(
      kindsOf(one(17, "float[3, 2, 4] x, float[3, 8, 4] w", "y = com.microsoft.FusedMatMul<transBatchA = 1>(x, w)")),
      "Opaque");
}

TEST(Lower, BiasGelu) {
  const auto model = one(17, "float[2, 8] x, float[8] b", "y = com.microsoft.BiasGelu(x, b)");
  EXPECT_EQ(kindsOf(model), "Add[bias] Elementwise");
}

TEST(Lower, OperatorsBeforeOpset7AreOpaque) {
  EXPECT_EQ(kindsOf(one(6, "float[4] a, float[4] b", "y = Add(a, b)")), "Opaque");
  EXPECT_EQ(kindsOf(one(7, "float[4] a, float[4] b", "y = Add(a, b)")), "Add");
}

TEST(Lower, SoftmaxBeforeOpset13) {
  EXPECT_EQ(kindsOf(one(11, "float[2, 3, 4] x", "y = Softmax(x)")), "Opaque");  // axes 1 and 2 together
  EXPECT_EQ(kindsOf(one(11, "float[2, 3, 4] x", "y = Softmax<axis = 2>(x)")), "Softmax");
  EXPECT_EQ(graph::intAttribute(last(one(13, "float[2, 3, 4] x", "y = Softmax<axis = 1>(x)")), "axis"), 1);
}

TEST(Lower, PadsOfAxesThatARunMakesLonger) {
  const auto model = lowered(R"(<ir_version: 8, opset_import: ["": 17]> m (float[B, T, 8] x) => (float[B, U, 8] y)
    <int64[1] one = {1}, int64[1] four = {4}, int64[4] front = {0, 0, 0, 0}, int64[1] none = {0}>
    { s = Shape(x) t = Gather(s, one) m = Mod(t, four) p = Concat<axis = 0>(front, m, none) y = Pad(x, p) })");
  ASSERT_EQ(last(model).kind, OpKind::Pad);
  EXPECT_EQ(graph::intsAttribute(last(model), "axes"), (std::vector<int64_t>{1}));
  EXPECT_EQ(graph::intsAttribute(last(model), "start"), std::nullopt);
  EXPECT_EQ(graph::floatAttribute(last(model), "value"), 0.0);
  const auto reflected = one(10, "float[2, 6, 8] x", "y = Pad<pads = [0, 1, 0, 0, -2, 0], mode = \"reflect\">(x)");
  ASSERT_EQ(last(reflected).kind, OpKind::Pad);
  EXPECT_EQ(graph::intsAttribute(last(reflected), "axes"), (std::vector<int64_t>{1}));
  EXPECT_EQ(graph::intsAttribute(last(reflected), "start"), std::nullopt);
  EXPECT_EQ(graph::floatAttribute(last(reflected), "value"), std::nullopt);
}

TEST(Lower, Slices) {
  const auto flipped = lowered(R"(<ir_version: 8, opset_import: ["": 17]> m (float[2, 6, 8] x) => (float[A, B, C] y)
    <int64[2] s = {-4, 1}, int64[2] e = {9, 7}, int64[2] a = {1, -1}> { y = Slice(x, s, e, a) })");
  ASSERT_EQ(kindsOf(flipped), "Slice[axis 0] Slice");
  EXPECT_EQ(graph::intAttribute(flipped.graph.nodes[0], "start"), 2);
  EXPECT_EQ(graph::intAttribute(flipped.graph.nodes[1], "axis"), 2);
  EXPECT_EQ(flipped.graph.value(flipped.graph.nodes[0].outputs[0]).shape, (graph::Shape{2, 4, 8}));
  const auto computed = one(17, "float[2, 6] x, int64[1] s, int64[1] e, int64[1] a", "y = Slice(x, s, e, a)");
  EXPECT_EQ(kindsOf(computed), "Opaque");
  const auto old = one(9, "float[2, 6] x", "y = Slice<starts = [1], ends = [3], axes = [1]>(x)");
  EXPECT_EQ(graph::intAttribute(last(old), "start"), 1);
  EXPECT_EQ(graph::intAttribute(last(old), "end"), 3);
}

TEST(Lower, CutsAreMarkedWhereTheFileWritesThem) {
  const auto slice = [](const std::string& bounds, const char* type) {
    return one(9, std::string("float[2, ") + type + "] x", "y = Slice<" + bounds + ", axes = [1]>(x)");
  };
  const auto moving = slice("starts = [-2], ends = [99]", "N");
  EXPECT_TRUE(graph::boolAttribute(last(moving), "from_end"));
  const auto fixed = slice("starts = [-2], ends = [99]", "6");
  EXPECT_FALSE(graph::boolAttribute(last(fixed), "from_end"));
  EXPECT_EQ(graph::intAttribute(last(fixed), "start"), 4);
  EXPECT_EQ(graph::intAttribute(last(fixed), "end"), 6);
  const auto parts = one(11, "float[2, 6] x", "y, z = Split<axis = 1, split = [2, 4]>(x)");
  EXPECT_EQ(graph::intsAttribute(last(parts), "sizes"), (std::vector<int64_t>{2, 4}));
  EXPECT_TRUE(graph::boolAttribute(last(one(13, "float[2, 6] x", "y, z = Split<axis = 1>(x)")), "divides"));
  const auto computed = one(13, "float[2, 6] x, int64[2] n", "y, z = Split<axis = 1>(x, n)");
  EXPECT_FALSE(graph::boolAttribute(last(computed), "divides"));
  EXPECT_EQ(graph::intsAttribute(last(computed), "sizes"), std::nullopt);
}

// The number at which a chunk begins, as exporters compute it.
std::optional<int64_t> startOf(const std::string& bookkeeping, const std::string& start) {
  const auto model = lowered(R"(<ir_version: 8, opset_import: ["": 17]> m (float[N, 2, 6] x) => (float[A, B, C] y)
    <int64[1] axis = {2}, int64[1] last = {-1}, int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2},
     int64[1] far = {99}> { s = Shape(x) )" +
                             bookkeeping + " y = Slice(x, " + start + ", far, axis) }");
  return graph::intAttribute(last(model), "start");
}

TEST(Lower, BoundsComputedFromSizesThatTheFileFixes) {
  EXPECT_EQ(startOf("n = Gather(s, last) a = Add(n, one) h = Div(a, two)", "h"), 3);
  EXPECT_EQ(startOf("n = Gather(s, axis) d = Sub(n, two) c = Cast<to = 6>(d) i = Identity(c)", "i"), 4);
  EXPECT_EQ(startOf("k = Constant<value_int = 1>() n = Gather(s, k) u = Unsqueeze(n, zero)", "u"), 2);
}

TEST(Lower, BoundsThatAnotherRunMayHaveOtherwiseAreNotKnown) {
  EXPECT_EQ(startOf("n = Gather(s, zero) h = Div(n, two)", "h"), std::nullopt);  // N
  EXPECT_EQ(startOf("n = Gather(s, zero) p = Gather(s, n)", "p"), std::nullopt);
  EXPECT_EQ(startOf("t = Shape<start = 1>(x) n = Gather(t, last)", "n"), std::nullopt);
  EXPECT_EQ(
      startOf("n = Gather(s, last) f = Cast<to = 1>(n) g = Cast<to = 1>(two) d = Div(f, g) h = Cast<to = 7>(d)", "h"),
      std::nullopt);
  EXPECT_EQ(startOf("n = Gather(s, last) m = Sub(zero, n) h = Div(m, two)", "h"), std::nullopt);
  EXPECT_EQ(startOf("z = NonZero(x) t = Shape(z) n = Gather(t, last)", "n"), std::nullopt);
}

TEST(Lower, AListThatIsTooLongToFollowIsNotKnown) {
  std::string zeros;
  for (int i = 0; i < 64; ++i) zeros += "0, ";
  const auto joined = [](const std::string& list) {
    return "k = Constant<value_ints = [" + list + "]>() j = Concat<axis = 0>(k, one) n = Gather(j, last)";
  };
  EXPECT_EQ(startOf(joined("0, 3"), "n"), 1);
  EXPECT_EQ(startOf(joined(zeros + "3"), "n"), std::nullopt);
}

TEST(Lower, TheMaskOfADropout) {
  const auto model = one(17, "float[2, 8] x", "y, m = Dropout(x)");
  ASSERT_EQ(kindsOf(model), "ShapeQuery[mask] Identity");
  EXPECT_EQ(model.valuePath[static_cast<size_t>(model.graph.nodes[0].outputs[0])], "m");
  EXPECT_EQ(model.valuePath[static_cast<size_t>(last(model).outputs[0])], "y");
  EXPECT_EQ(last(model).outputs.size(), 1U);
  EXPECT_EQ(kindsOf(one(17, "float[2, 8] x, float r, bool t", "y, m = Dropout(x, r, t)")), "Opaque");
}

TEST(Lower, Tiles) {
  const auto repeated = [](const std::string& counts, const std::string& type = "float[2, 1, N] x") {
    const auto model =
        lowered("<ir_version: 8, opset_import: [\"\": 17]> m (" + type + ") => (float[A, B, C] y) <int64[" +
                std::to_string(std::ranges::count(counts, ',') + 1) + "] r = {" + counts + "}> { y = Tile(x, r) }");
    const auto axes = graph::intsAttribute(last(model), "axes").value_or(std::vector<int64_t>{});
    return std::pair{last(model).kind, axes};
  };
  using Axes = std::vector<int64_t>;
  EXPECT_EQ(repeated("1, 5, 1"), (std::pair{OpKind::Expand, Axes{}}));
  EXPECT_EQ(repeated("3, 1, 1"), (std::pair{OpKind::Mix, Axes{0}}));
  EXPECT_EQ(repeated("3, 5, 2"), (std::pair{OpKind::Mix, Axes{0, 1, 2}}));
  EXPECT_EQ(repeated("3, 5"), (std::pair{OpKind::Opaque, Axes{}})) << "another rank";
  EXPECT_EQ(kindsOf(one(17, "float[2, 3] x, int64[2] r", "y = Tile(x, r)")), "Opaque");
}

TEST(Lower, BlocksOfPositions) {
  using Ints = std::vector<int64_t>;
  const auto order = [](const std::string& node) {
    const auto model = one(17, "float[5, 12, 6, 4] x", "y = " + node + "(x)");
    EXPECT_EQ(kindsOf(model), "Rearrange");
    return std::pair{graph::intsAttribute(last(model), "inner").value_or(Ints{}),
                     graph::intsAttribute(last(model), "perm").value_or(Ints{})};
  };
  EXPECT_EQ(order("DepthToSpace<blocksize = 2>"), (std::pair{Ints{5, 2, 2, 3, 6, 4}, Ints{0, 3, 4, 1, 5, 2}}));
  EXPECT_EQ(order("DepthToSpace<blocksize = 2, mode = \"CRD\">"),
            (std::pair{Ints{5, 3, 2, 2, 6, 4}, Ints{0, 1, 4, 2, 5, 3}}));
  EXPECT_EQ(order("SpaceToDepth<blocksize = 2>"), (std::pair{Ints{5, 12, 3, 2, 2, 2}, Ints{0, 3, 5, 1, 2, 4}}));
  EXPECT_EQ(kindsOf(one(17, "float[5, 12, 6, 4] x", "y = DepthToSpace<blocksize = 2, mode = \"RDC\">(x)")), "Opaque");
}

TEST(Lower, GatherNDOfOneNumberPerIndexIsAGather) {
  const auto model = one(17, "float[4, 2, 8] x, int64[3, 1] i", "y = GatherND(x, i)");
  EXPECT_EQ(kindsOf(model), "Reshape[index] Gather");
  EXPECT_EQ(graph::intAttribute(last(model), "axis"), 0);
  EXPECT_EQ(model.graph.value(last(model).operands[1]).shape, (graph::Shape{3}));
  for (const char* inputs : {"float[4, 2, 8] x, int64[3, 4] i", "float[N, 2] x, int64[3, 3] i",
                             "float[4, 2, 8] x, int64[1] i", "float[4, 2] x, int64[3, N] i"})
    EXPECT_EQ(kindsOf(one(17, inputs, "y = GatherND(x, i)")), "Opaque") << inputs;
  EXPECT_EQ(kindsOf(one(17, "float[3, 4, 8] x, int64[3, 1] i", "y = GatherND<batch_dims = 1>(x, i)")), "Opaque");
}

TEST(Lower, GatherNDOfSeveralNumbersPerIndexIndexesAsManyAxes) {
  const auto model = one(17, "float[4, 2, 8] x, int64[3, 5, 2] i", "y = GatherND(x, i)");
  EXPECT_EQ(kindsOf(model), "Select[index 0] Select[index 1] Gather");
  EXPECT_EQ(graph::intAttribute(last(model), "axis"), 0);
  EXPECT_EQ(graph::intAttribute(last(model), "count"), 2);
  ASSERT_EQ(last(model).operands.size(), 3U);
  EXPECT_EQ(model.graph.value(last(model).operands[2]).shape, (graph::Shape{3, 5}));
  EXPECT_EQ(kindsOf(one(17, "float[3, 4, 8] x, int64[3, 2] i", "y = GatherND<batch_dims = 1>(x, i)")), "Opaque");
}

TEST(Lower, ConstantsOfEveryKind) {
  const auto model = lowered(R"(<ir_version: 8, opset_import: ["": 17]> m (float[2, 3] x) => (float[2, 3] y)
    { two = Constant<value_float = 2.0>() i = Identity(two) p = Pow(x, i) s = Constant<value_ints = [3, 2]>() r = Reshape(p, s) t = Constant<value_ints=[2, 3]>() y = Reshape(r, t) })");
  EXPECT_EQ(kindsOf(model), "Identity Elementwise Reshape Reshape");
  EXPECT_EQ(model.constantName, (std::vector<std::string>{"two", "s", "t"}));
}

TEST(Lower, InitializersThatAreInputs) {
  for (const int version : {3, 8}) {
    auto model = modelFromText(
        "<ir_version: " + std::to_string(version) +
        R"(, opset_import: ["": 17]> m (float[N, 8] x, float[8, 8] W) => (float[N, 8] y) { y = MatMul(x, W) })");
    addTensor(model, "W", {8, 8}, 1);
    const auto graph = lowered(model).graph;
    EXPECT_EQ(graph.inputs().size(), 1U);
    EXPECT_EQ(graph.constant(0).volatileReason.empty(), version < 4);
    addTensor(model, "b", {8}, 2);  // not listed: W is meant as an input in IR 3 too
    EXPECT_FALSE(lowered(model).graph.constant(0).volatileReason.empty());
  }
}

TEST(Lower, ScopesFromNamesAndMetadata) {
  auto model = modelFromText(
      R"(<ir_version: 10, opset_import: ["": 17]> m (float[2, 8] x) => (float[2, 8] y) { a = Neg(x) b = Neg(a) y = Neg(b) })");
  model.mutable_graph()->mutable_node(0)->set_name("/encoder/layer.3/attention/Neg");
  auto* node = model.mutable_graph()->mutable_node(1);
  const auto add = [&](const char* key, const char* value) {
    auto* entry = node->add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  };
  add("pkg.torch.onnx.name_scopes", "['', 'encoder', 'encoder.layer.3', 'encoder.layer.3.ln', 'neg']");
  add("pkg.torch.onnx.class_hierarchy", "['M', 'a.b.Encoder', 'a.b.Layer', 'torch.nn.LayerNorm', 'aten.neg']");
  const auto graph = lowered(model).graph;
  EXPECT_EQ(graph.scope(graph.nodes[0].scope).path, "encoder.layer.3.attention");
  EXPECT_EQ(graph.scope(graph.nodes[1].scope).path, "encoder.layer.3.ln");
  EXPECT_EQ(graph.scope(graph.nodes[1].scope).type, "LayerNorm");
  EXPECT_EQ(graph.nodes[2].scope, graph.nodes[1].scope) << "says nothing";
}

TEST(Lower, NodesWithoutAScopeStandWithTheirReaders) {
  auto model = modelFromText(
      R"(<ir_version: 10, opset_import: ["": 17]> m (float[2, 8] x) => (float[2, 8] y, float[2, 8] z) {
        a = Neg(x) b = Neg(a) s = Neg(x) c = Add(b, s) y = Add(c, s) z = Neg(c)
      })");
  const std::pair<int, const char*> scoped[] = {{1, "0/Neg"}, {3, "0/Add"}, {4, "1/Add"}};
  for (const auto& [node, place] : scoped) {
    model.mutable_graph()->mutable_node(node)->set_name(std::string("/encoder/layer.") + place);
  }
  const auto graph = lowered(model).graph;
  const auto pathOf = [&](size_t node) { return graph.scope(graph.nodes[node].scope).path; };
  EXPECT_EQ(pathOf(0), "encoder.layer.0");
  EXPECT_EQ(pathOf(2), "encoder.layer");
  EXPECT_EQ(pathOf(5), "encoder.layer.0") << "read by nobody: where its operand is made";
}

TEST(Lower, ShapesAreBookkeeping) {
  const auto graph = lowered(R"(<ir_version: 8, opset_import: ["": 17]> m (float[2, 8] x) => (float[A, B] y)
    <int64 zero = {0}, int64[1] ax = {0}, int64[1] rest = {-1}> {
      s = Shape(x) n = Gather(s, zero) u = Unsqueeze(n, ax) t = Concat<axis = 0>(u, rest) y = Reshape(x, t)
    })")
                         .graph;
  for (const auto& node : graph.nodes) EXPECT_EQ(node.helper, node.op != "Reshape") << node.op;
}

// Functions, and operators with bodies: what each becomes in the graph, and the way back to the file.

TEST(Lower, FunctionsAreInlined) {
  const auto model = lowered(R"(<ir_version: 8, opset_import: ["": 17, "f": 1]>
    m (float[N, 8] x) => (float[N, 8] y) { a = f.twice<k = 1>(x) y = f.twice(a) }
    <domain: "f", opset_import: ["": 17]> twice<k>(v) => (w) { t = Add(v, v) w = Identity(t) })");
  ASSERT_EQ(kindsOf(model), "Add Identity Add Identity");
  EXPECT_EQ(model.nodePath[1], (NodePath{{0, {}}, {1, {}}}));
  EXPECT_EQ(model.valuePath[static_cast<size_t>(model.graph.nodes[0].outputs[0])], "0//t");
  EXPECT_EQ(model.valuePath[static_cast<size_t>(model.graph.nodes[1].outputs[0])], "a");
  EXPECT_EQ(model.graph.scope(model.graph.nodes[2].scope).type, "twice");
}

TEST(Lower, FunctionAttributes) {
  const auto model = lowered(R"(<ir_version: 8, opset_import: ["": 17, "f": 1]>
    m (float[2, 3, 8] x) => (float[2, 3, 8] y) { a = f.soft<k = 1>(x) y = f.soft(a) }
    <domain: "f", opset_import: ["": 17]> soft<k: int = 0>(v) => (w) { w = Softmax<axis: int = @k>(v) })");
  EXPECT_EQ(graph::intAttribute(model.graph.nodes[0], "axis"), 1);
  EXPECT_EQ(graph::intAttribute(model.graph.nodes[1], "axis"), 0);
}

TEST(Lower, IfReadsOuterValues) {
  const auto model = lowered(R"(<ir_version: 8, opset_import: ["": 17]> m (bool c, float[2, 8] x) => (float[2, 8] y) {
    h = Neg(x)
    y = If(c) <then_branch = yes () => (float[2, 8] a) { a = Abs(h) }, else_branch = no () => (float[2, 8] b) { b = Identity(x) }>
  })");
  ASSERT_EQ(kindsOf(model), "Neg If Elementwise Identity");
  EXPECT_EQ(model.nodePath[2], (NodePath{{1, "then_branch"}, {0, {}}}));
  EXPECT_EQ(model.valuePath[static_cast<size_t>(model.graph.nodes[2].outputs[0])], "1/then_branch/a");
  EXPECT_EQ(model.graph.nodes[2].operands[0], model.graph.nodes[0].outputs[0]);
}

TEST(Lower, LoopCarriesAndScans) {
  const auto model = lowered(
      R"(<ir_version: 8, opset_import: ["": 17]> m (int64 n, float[2, 8] x) => (float[2, 8] y, float[K, 2, 8] s) {
    y, s = Loop(n, , x) <body = step (int64 i, bool go, float[2, 8] v) => (bool on, float[2, 8] w, float[2, 8] z) {
      on = Identity(go)
      w = Add(v, v)
      z = Neg(v)
    }>
  })");
  ASSERT_EQ(kindsOf(model), "Loop Identity Add Neg Opaque[scan]");
  const auto& body = model.graph.block(model.graph.nodes[0].blocks.at(0));
  EXPECT_EQ(body.params.size(), 2U);   // iteration, carried
  EXPECT_EQ(body.returns.size(), 2U);  // condition, carried
}

TEST(Lower, ScanCarriesAndReadsSlices) {
  const auto model = lowered(
      R"(<ir_version: 8, opset_import: ["": 17]> m (float[2, 8] c, float[2, 5, 8] x) => (float[2, 8] y, float[5, 2, 8] s) {
    y, s = Scan <num_scan_inputs = 1, scan_input_axes = [1],
                 body = step (float[2, 8] v, float[2, 8] t) => (float[2, 8] w, float[2, 8] z) {
      w = Add(v, t)
      z = Neg(t)
    }> (c, x)
  })");
  ASSERT_EQ(kindsOf(model), "Loop Gather[input 1] Add Neg Opaque[scan]");
  const auto& graph = model.graph;
  const auto& body = graph.block(graph.nodes[0].blocks.at(0));
  EXPECT_EQ(body.params.size(), 2U);   // pass, carried
  EXPECT_EQ(body.returns.size(), 2U);  // condition, carried
  EXPECT_EQ(graph.nodes[1].operands.at(1), body.params.at(0));
  EXPECT_EQ(graph.value(graph.nodes[1].outputs.at(0)).shape, (graph::Shape{2, 8}));
  EXPECT_EQ(model.nodePath[1], model.nodePath[0]) << "a read of the Scan's own input";
  EXPECT_EQ(graph.nodes[2].operands, (graph::Operands{body.params.at(1), graph.nodes[1].outputs.at(0)}));
}

TEST(Lower, UnknownOperatorsReadWhatTheirBodiesRead) {
  const auto model =
      lowered(R"(<ir_version: 8, opset_import: ["": 17, "acme": 1]> m (float[2, 8] x) => (float[2, 8] y) {
    h = Neg(x)
    y = acme.Wobble(x) <body = g () => (float[2, 8] a) { a = Abs(h) }>
  })");
  ASSERT_EQ(kindsOf(model), "Neg Opaque");
  EXPECT_EQ(model.graph.nodes[1].op, "acme::Wobble");
  EXPECT_EQ(model.graph.nodes[1].operands.size(), 2U);
}

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

// Some exporters begin the names in a function with the name of its call.
TEST(LocalFunctions, DoNotDoubleTheNameOfTheirCall) {
  ModelProto proto = modelFromText(R"(<ir_version: 9, opset_import: ["": 17, "own": 1]>
    m (float[2, 8] x) => (float[2, 8] y) { y = own.Block(x) }
    <domain: "own", opset_import: ["": 17]> Block (a) => (b) { b = Neg(a) })");
  proto.mutable_graph()->mutable_node(0)->set_name("Block_1");
  for (const auto& [written, name, path] : {std::tuple("Block_1/Act/Neg", "Block_1/Act/Neg", "Block_1.Act"),
                                            {"Act/Neg", "Block_1/Act/Neg", "Block_1.Act"}}) {
    proto.mutable_functions(0)->mutable_node(0)->set_name(written);
    const auto model = lowerModel(sourceOf(proto), nullptr);
    EXPECT_EQ(model.graph.nodes.back().name, name);
    EXPECT_EQ(model.graph.scope(model.graph.nodes.back().scope).path, path);
  }
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
