#include "core/formats/onnx/source/operators.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "core/base/printable.h"

namespace normlens::formats::onnx {
namespace {

// clang-format off
// Operators of com.microsoft in ONNX Runtime 1.31, in the order of their bytes.
constexpr std::string_view kContrib[] = {
    "Attention", "AttnLSTM", "BeamSearch", "BiasAdd", "BiasDropout", "BiasGelu", "BiasSoftmax", "BiasSplitGelu",
    "BifurcationDetector", "BitmaskBiasDropout", "BitmaskDropout", "BranchwiseRMSNorm", "CDist",
    "CausalConvWithState", "ComplexMul", "ComplexMulConj", "ConvTransposeWithDynamicPads", "CropAndResize",
    "DecoderAttention", "DecoderMaskedMultiHeadAttention", "DecoderMaskedSelfAttention", "DequantizeBFP",
    "DequantizeLinear", "DequantizeWithOrder", "DynamicQuantizeLSTM", "DynamicQuantizeMatMul",
    "DynamicSparseAttention", "DynamicTimeWarping", "EPContext", "EmbedLayerNormalization", "EngramGate",
    "ExpandDims", "FastGelu", "FusedConv", "FusedGemm", "FusedMatMul", "FusedMatMulActivation", "GatedAdd",
    "GatedDeltaNet", "GatedRMSNorm", "GatedRelativePositionBias", "GatherBlockQuantized", "GatherND", "Gelu",
    "GemmFastGelu", "GemmFloat8", "GemmaRotaryEmbedding", "GreedySearch", "GridSample", "GroupNorm",
    "GroupQueryAttention", "HyperConnectionPostMix", "HyperConnectionPreMix", "Inverse", "Irfft", "IsAllFinite",
    "LinearAttention", "LinearAttentionGate", "LongformerAttention", "MRotaryEmbedding",
    "MatMulBlockQuantizedFp4Weight", "MatMulBlockQuantizedFp8Weight", "MatMulBnb4", "MatMulFpQ4", "MatMulInteger16",
    "MatMulIntegerToFloat", "MatMulNBits", "MatMulNBitsMlp", "MatMulNBitsQkv", "MaxpoolWithMask", "MoE", "MulInteger",
    "MultiHeadAttention", "MurmurHash3", "NGramHashMapping", "NGramRepeatBlock", "NhwcConv", "NhwcFusedConv",
    "NhwcMaxPool", "PackedAttention", "PackedMultiHeadAttention", "PackedSparseAttentionIndexer", "Pad",
    "PagedAttention", "QAttention", "QEmbedLayerNormalization", "QGemm", "QLinearAdd", "QLinearAveragePool",
    "QLinearConcat", "QLinearConv", "QLinearGlobalAveragePool", "QLinearLeakyRelu", "QLinearMul", "QLinearReduceMean",
    "QLinearSigmoid", "QLinearSoftmax", "QLinearWhere", "QMoE", "QOrderedAttention", "QOrderedGelu",
    "QOrderedLayerNormalization", "QOrderedLongformerAttention", "QOrderedMatMul", "QuantizeBFP", "QuantizeLinear",
    "QuantizeWithOrder", "QuickGelu", "Range", "ReduceSumInteger", "RelativePositionBias", "RemovePadding",
    "RestorePadding", "Rfft", "RotaryEmbedding", "SampleOp", "Sampling", "ScaledSiLU", "SkipGroupNorm",
    "SkipLayerNormalization", "SkipSimplifiedLayerNormalization", "Snpe", "SparseAttention", "SparseAttentionIndexer",
    "SparsePagedAttention", "SparseToDenseMatMul", "Tokenizer", "TorchEmbedding", "TransposeMatMul", "Trilu",
    "UnfoldTensor", "Unique", "VarlenCausalConvWithState", "VarlenNGramHashMapping", "WhisperBeamSearch",
    "WordConvEmbedding",
};
// clang-format on

// The runtime has these for versions as well in which the standard does not know them.
constexpr std::string_view kOlder[] = {"LayerNormalization", "MeanVarianceNormalization",
                                       "SimplifiedLayerNormalization", "ThresholdedRelu"};

// Copies of standard operators for other layouts of memory: nobody else writes there.
bool isLayoutDomain(const std::string& domain) {
  return domain == "com.microsoft.nchwc" || domain == "com.ms.internal.nhwc";
}

bool isDefined(const std::string& domain, const std::string& op, const Opsets& opsets) {
  const auto found = opsets.find(domain);
  const int64_t version = found == opsets.end() ? std::numeric_limits<int>::max() : found->second;
  const auto* schema = ::ONNX_NAMESPACE::OpSchemaRegistry::Schema(op, static_cast<int>(version), domain);
  return schema != nullptr && !schema->Deprecated();
}

std::string keyOf(const std::string& domain, const std::string& name, const std::string& overload) {
  return (isStandardDomain(domain) ? std::string() : domain) + "\n" + name + "\n" + overload;
}

}  // namespace

bool isStandardDomain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

bool isRuntimeDomain(const std::string& domain) {
  return domain == "ai.onnx.ml" || domain.starts_with("com.microsoft") || domain == "ai.onnx.training" ||
         domain == "ai.onnx.preview" || domain == "ai.onnx.preview.training" || domain == "com.ms.internal.nhwc";
}

std::string functionKey(const ::ONNX_NAMESPACE::FunctionProto& function) {
  return keyOf(function.domain(), function.name(), function.overload());
}

std::string functionKey(const NodeProto& call) { return keyOf(call.domain(), call.op_type(), call.overload()); }

std::string quotedName(const std::string& name) {
  constexpr size_t kMost = 120;
  return "'" + printable(name.size() > kMost ? name.substr(0, kMost) + "..." : name) + "'";
}

Opsets opsetsOf(const ::google::protobuf::RepeatedPtrField<::ONNX_NAMESPACE::OperatorSetIdProto>& imports) {
  Opsets out;
  for (const auto& import : imports) out[isStandardDomain(import.domain()) ? "" : import.domain()] = import.version();
  return out;
}

bool isRuntimeOp(const NodeProto& node, const Opsets& opsets) {
  const std::string& op = node.op_type();
  if (isStandardDomain(node.domain()))
    return isDefined("", op, opsets) || std::ranges::find(kOlder, op) != std::end(kOlder);
  if (node.domain() == "ai.onnx.ml") return isDefined(node.domain(), op, opsets);
  return isLayoutDomain(node.domain()) ||
         (node.domain() == "com.microsoft" && std::ranges::binary_search(kContrib, op));
}

}  // namespace normlens::formats::onnx
