// ONNX Runtime's own fused operators: our kernels in double against its kernels in float32.
#include <gtest/gtest.h>

#include <ostream>

#include "core/formats/onnx/model/onnx_model.h"
#include "core/run/compare/diff.h"
#include "core/run/inputs/draw.h"
#include "core/run/tensors.h"
#include "tests/formats/onnx/onnx_fixture.h"
#include "tests/support/must.h"

namespace normlens::formats::onnx {
namespace {

using graph::DType;

struct Input {
  std::string name;
  graph::Shape shape;
  std::vector<double> integers = {};  // int32; empty: float32, drawn
  DType type = DType::Int32;
};

struct Case {
  std::string name, node;  // node: in onnx's text form; outputs are those in `outputs`
  std::vector<Input> inputs;
  std::vector<std::string> outputs = {"y"};
};

std::string dimsOf(const graph::Shape& shape) {
  std::string text;
  for (const int64_t dim : shape) text += (text.empty() ? "" : ", ") + std::to_string(dim);
  return text;
}

std::string typeName(DType type) { return type == DType::Int64 ? "int64" : type == DType::Bool ? "bool" : "int32"; }

std::string textOf(const Case& test) {
  std::string inputs, outputs;
  for (const Input& input : test.inputs) {
    const std::string type = input.integers.empty() ? "float" : typeName(input.type);
    inputs += (inputs.empty() ? "" : ", ") + type + "[" + dimsOf(input.shape) + "] " + input.name;
  }
  for (const std::string& output : test.outputs)
    outputs += (outputs.empty() ? "" : ", ") + std::string("float ") + output;
  return R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]> agraph ()" + inputs + ") => (" + outputs +
         ") { " + test.node + " }";
}

Tensors inputsOf(const Case& test) {
  Tensors tensors;
  uint64_t seed = 1;
  for (const Input& input : test.inputs) {
    if (!input.integers.empty()) {
      tensors.push_back({input.name, run::fromDoubles(input.type, input.shape, input.integers)});
      continue;
    }
    InputSpec spec;
    spec.name = input.name;
    spec.dtype = DType::Float32;
    spec.shape = input.shape;
    tensors.push_back(run::drawInputs({spec}, seed++).value().front());
  }
  return tensors;
}

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest finds it by this name
void PrintTo(const Case& test, std::ostream* out) { *out << test.node; }

class FusedOps : public testing::TestWithParam<Case> {};

TEST_P(FusedOps, AgreeWithOnnxRuntime) {
  ModelProto proto = modelFromText(textOf(GetParam()));
  for (auto& output : *proto.mutable_graph()->mutable_output())
    output.mutable_type()->mutable_tensor_type()->clear_shape();
  const auto model = must(OnnxModel::fromSource(sourceOf(proto), {}));
  const Tensors inputs = inputsOf(GetParam());
  const auto plain = must(model->run(inputs, {}));
  const auto probed = model->probe(inputs, {});
  EXPECT_TRUE(probed) << probed.error().message;
  const auto twin = must(model->toFloat64());
  const auto wide = must(twin->run(inputs, {}));
  const auto diffs = must(run::compareOutputs(wide, plain));
  for (const auto& diff : diffs) EXPECT_LT(diff.maxRel, 3e-5) << diff.name;  // its FastGelu is an approximation
  EXPECT_EQ(twin->narrowOp(inputs, {}).value(), "");
}

const Input kX{"x", {2, 3, 8}}, kSkip{"skip", {2, 3, 8}}, kGamma{"g", {8}}, kBeta{"b", {8}}, kBias{"bias", {8}};
const Input kW{"w", {8, 24}}, kQkvBias{"qb", {24}};
const Input kIds{"ids", {2, 3}, {0, 4, 2, 1, 1, 3}}, kSegments{"seg", {2, 3}, {0, 1, 0, 1, 1, 0}};
const Input kWords{"words", {5, 8}}, kPositions{"pos", {6, 8}}, kSegmentTable{"segs", {2, 8}};
const Input kQ{"q", {2, 3, 8}}, kK{"k", {2, 5, 8}}, kV{"v", {2, 5, 8}};

const Case kCases[] = {
    {"SkipLayerNorm",
     "y = com.microsoft.SkipLayerNormalization<epsilon = 0.001>(x, skip, g, b)",
     {kX, kSkip, kGamma, kBeta}},
    {"SkipLayerNormWithBiasAndSum",
     "y, m, i, s = com.microsoft.SkipLayerNormalization(x, skip, g, b, bias)",
     {kX, kSkip, kGamma, kBeta, kBias},
     {"y", "s"}},
    {"SkipLayerNormOfAPlane",
     "y = com.microsoft.SkipLayerNormalization(x, skip, g, b)",
     {kX, {"skip", {3, 8}}, kGamma, kBeta}},
    {"SkipSimplified",
     "y, m, i, s = com.microsoft.SkipSimplifiedLayerNormalization(x, skip, g, bias)",
     {kX, kSkip, kGamma, kBias},
     {"y", "s"}},
    {"Simplified", "y = SimplifiedLayerNormalization<axis = -1, epsilon = 0.01>(x, g)", {kX, kGamma}},
    {"EmbedLayerNorm",
     "y, m, s = com.microsoft.EmbedLayerNormalization<mask_index_type = 1>(ids, seg, words, pos, segs, g, b, mask)",
     {kIds, kSegments, kWords, kPositions, kSegmentTable, kGamma, kBeta, {"mask", {2, 3}, {1, 1, 0, 1, 1, 1}}},
     {"y", "s"}},
    {"EmbedLayerNormWithPositions",
     "y, m = com.microsoft.EmbedLayerNormalization(ids, , words, pos, , g, b, , ps)",
     {kIds, kWords, kPositions, kGamma, kBeta, {"ps", {1, 3}, {5, 0, 2}}}},
    {"EmbedLayerNormWithTheFirstSegment",
     "y, m, s = com.microsoft.EmbedLayerNormalization(ids, , words, pos, segs, g, b)",
     {kIds, kWords, kPositions, kSegmentTable, kGamma, kBeta},
     {"y", "s"}},
    {"EmbedLayerNormCountsItsMaskWhateverItsType",
     "y, m = com.microsoft.EmbedLayerNormalization<mask_index_type = 0>(ids, , words, pos, , g, b, mask) "
     "n = Cast<to = 1>(m)",
     {kIds, kWords, kPositions, kGamma, kBeta, {"mask", {2, 3}, {1, 1, 0, 1, 2, 0}}},
     {"y", "n"}},
    {"BiasGelu", "y = com.microsoft.BiasGelu(x, bias)", {kX, kBias}},
    {"Gelu", "y = com.microsoft.Gelu(x)", {kX}},
    {"FastGelu", "y = com.microsoft.FastGelu(x, bias)", {kX, kBias}},
    {"FastGeluWithoutBias", "y = com.microsoft.FastGelu(x)", {kX}},
    {"QuickGelu", "y = com.microsoft.QuickGelu<alpha = 1.5>(x)", {kX}},
    {"FusedMatMul", "y = com.microsoft.FusedMatMul<transB = 1, alpha = 0.3>(x, skip)", {kX, kSkip}},
    {"FusedGemm",
     "y = com.microsoft.FusedGemm<transB = 1, alpha = 0.5, beta = 2.0, activation = \"LeakyRelu\", "
     "activation_alpha = 0.2>(a, c, d)",
     {{"a", {3, 4}}, {"c", {5, 4}}, {"d", {5}}}},
    {"FusedConv",
     "y = com.microsoft.FusedConv<activation = \"Relu\", pads = [1, 1, 1, 1], kernel_shape = [3, 3]>(i, k, c, z)",
     {{"i", {2, 3, 5, 6}}, {"k", {4, 3, 3, 3}}, {"c", {4}}, {"z", {2, 4, 5, 6}}}},
    {"Attention", "y = com.microsoft.Attention<num_heads = 2>(x, w, qb)", {kX, kW, kQkvBias}},
    {"AttentionUnidirectional",
     "y = com.microsoft.Attention<num_heads = 2, unidirectional = 1>(x, w, qb)",
     {kX, kW, kQkvBias}},
    {"AttentionScaled", "y = com.microsoft.Attention<num_heads = 4, scale = 0.7>(x, w, qb)", {kX, kW, kQkvBias}},
    {"AttentionWithLengths",
     "y = com.microsoft.Attention<num_heads = 2>(x, w, qb, mask)",
     {kX, kW, kQkvBias, {"mask", {2}, {2, 3}}}},
    {"AttentionWithEndsAndStarts",
     "y = com.microsoft.Attention<num_heads = 2>(x, w, qb, mask)",
     {kX, kW, kQkvBias, {"mask", {4}, {3, 3, 1, 0}}}},
    {"AttentionWithMask",
     "y = com.microsoft.Attention<num_heads = 2>(x, w, qb, mask)",
     {kX, kW, kQkvBias, {"mask", {2, 3}, {1, 0, 1, 1, 1, 0}}}},
    {"AttentionWithMaskByQuery",
     "y = com.microsoft.Attention<num_heads = 2>(x, w, qb, mask)",
     {kX, kW, kQkvBias, {"mask", {2, 3, 3}, {1, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0}}}},
    {"AttentionWithPast",
     "y, p = com.microsoft.Attention<num_heads = 2, unidirectional = 1>(x, w, qb, , past)",
     {kX, kW, kQkvBias, {"past", {2, 2, 2, 4, 4}}},
     {"y", "p"}},
    {"AttentionWithScoreBias",
     "y = com.microsoft.Attention<num_heads = 2>(x, w, qb, , , scores)",
     {kX, kW, kQkvBias, {"scores", {1, 2, 3, 3}}}},
    {"AttentionWithSizes",
     "y = com.microsoft.Attention<num_heads = 2, qkv_hidden_sizes = [8, 8, 4]>(x, w, qb)",
     {kX, {"w", {8, 20}}, {"qb", {20}}}},
    {"MultiHead", "y = com.microsoft.MultiHeadAttention<num_heads = 2>(q, k, v)", {kQ, kK, kV}},
    {"MultiHeadWithBiasAndMask",
     "y = com.microsoft.MultiHeadAttention<num_heads = 2>(q, k, v, qb, mask)",
     {kQ, kK, kV, kQkvBias, {"mask", {2, 5}, {1, 1, 1, 0, 0, 1, 1, 1, 1, 0}}}},
    {"MultiHeadWithLengths",
     "y = com.microsoft.MultiHeadAttention<num_heads = 2>(q, k, v, qb, mask)",
     {kQ, kK, kV, kQkvBias, {"mask", {2}, {4, 2}}}},
    {"MultiHeadWithScoreBias",
     "y = com.microsoft.MultiHeadAttention<num_heads = 2>(q, k, v, , , scores)",
     {kQ, kK, kV, {"scores", {2, 1, 3, 5}}}},
    {"MultiHeadWithPast",
     "y, pk, pv = com.microsoft.MultiHeadAttention<num_heads = 2>(q, k, v, , , , a, c)",
     {kQ, {"k", {2, 3, 8}}, {"v", {2, 3, 8}}, {"a", {2, 2, 4, 4}}, {"c", {2, 2, 4, 4}}},
     {"y", "pk", "pv"}},
    {"MultiHeadUnidirectional",
     "y = com.microsoft.MultiHeadAttention<num_heads = 2, unidirectional = 1>(q, k, v)",
     {kQ, {"k", {2, 3, 8}}, {"v", {2, 3, 8}}}},
    {"MultiHeadSplitKeys",
     "y = com.microsoft.MultiHeadAttention<num_heads = 2>(q, k, v)",
     {kQ, {"k", {2, 2, 5, 4}}, {"v", {2, 2, 5, 4}}}},
    {"Rotary",
     "y = com.microsoft.RotaryEmbedding(x, p, c, s)",
     {{"x", {2, 2, 3, 8}}, {"p", {2, 3}, {0, 1, 2, 4, 3, 5}, DType::Int64}, {"c", {6, 4}}, {"s", {6, 4}}}},
    {"RotaryInterleavedFromAPosition",
     "y = com.microsoft.RotaryEmbedding<interleaved = 1>(x, p, c, s)",
     {{"x", {2, 2, 3, 8}}, {"p", {1}, {2}, DType::Int64}, {"c", {6, 4}}, {"s", {6, 4}}}},
    {"RotaryPartial",
     "y = com.microsoft.RotaryEmbedding<num_heads = 2, rotary_embedding_dim = 4>(x, p, c, s)",
     {{"x", {2, 3, 16}}, {"p", {2, 3}, {0, 1, 2, 4, 3, 5}, DType::Int64}, {"c", {6, 2}}, {"s", {6, 2}}}},
};

INSTANTIATE_TEST_SUITE_P(Contrib, FusedOps, testing::ValuesIn(kCases),
                         [](const auto& given) { return given.param.name; });

}  // namespace
}  // namespace normlens::formats::onnx
