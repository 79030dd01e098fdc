#include "core/formats/onnx/float64/float64_ops.h"

#include <onnx/defs/attr_proto_util.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "core/formats/onnx/float64/kernel.h"
#include "core/formats/onnx/read/bodies.h"
#include "core/formats/onnx/read/check_model.h"
#include "core/formats/onnx/read/tensors/element_types.h"
#include "core/formats/onnx/run/runtime_ops.h"

namespace normlens::formats::onnx {
namespace {

using ::ONNX_NAMESPACE::AttributeProto;
using ::ONNX_NAMESPACE::MakeAttribute;

constexpr std::string_view kStandard, kContrib = "com.microsoft";

struct OwnRow {
  std::string_view domain, op, kernel;
  int typedInput = 0;    // the input whose type says whether the node works on floats
  int64_t below = 1000;  // opset from which on ONNX Runtime has it in double
};

// Found by asking ONNX Runtime 1.31 for its kernels, and by trying (it has LSTM and GRU in double, but they refuse).
// LayerNorm and its kin: its double kernels subtract squares of means, and give the means as float32.
constexpr OwnRow kOwn[] = {
    {kStandard, "Gelu", "Gelu"},
    {kContrib, "Gelu", "Gelu"},
    {kContrib, "BiasGelu", "Gelu"},
    {kContrib, "FastGelu", "FastGelu"},
    {kContrib, "QuickGelu", "Activation"},
    {kStandard, "PRelu", "PRelu"},
    {kStandard, "LayerNormalization", "LayerNormalization"},
    {kContrib, "LayerNormalization", "LayerNormalization"},
    {kStandard, "RMSNormalization", "RMSNormalization"},
    {kStandard, "SimplifiedLayerNormalization", "RMSNormalization"},
    {kContrib, "SimplifiedLayerNormalization", "RMSNormalization"},
    {kContrib, "SkipLayerNormalization", "SkipLayerNormalization"},
    {kContrib, "SkipSimplifiedLayerNormalization", "SkipSimplifiedLayerNormalization"},
    {kContrib, "EmbedLayerNormalization", "EmbedLayerNormalization", 2},
    {kStandard, "InstanceNormalization", "GroupNormalization"},
    {kStandard, "GroupNormalization", "GroupNormalization"},
    {kStandard, "Conv", "Conv"},
    {kContrib, "FusedConv", "Conv"},
    {kStandard, "ConvTranspose", "ConvTranspose"},
    {kStandard, "AveragePool", "AveragePool"},
    {kStandard, "GlobalAveragePool", "AveragePool"},
    {kStandard, "GlobalMaxPool", "MaxPool"},
    {kStandard, "Resize", "Resize"},
    {kStandard, "Upsample", "Upsample"},
    {kStandard, "RNN", "RNN"},
    {kStandard, "GRU", "GRU"},
    {kStandard, "LSTM", "LSTM"},
    {kContrib, "Attention", "FusedAttention"},
    {kContrib, "MultiHeadAttention", "MultiHeadAttention"},
    {kContrib, "RotaryEmbedding", "FusedRotaryEmbedding"},
    {kStandard, "RotaryEmbedding", "RotaryEmbedding"},
    {kStandard, "Attention", "Attention"},
    {kStandard, "GridSample", "GridSample", 0, 20},
    {kStandard, "MaxPool", "MaxPool", 0, 8},
    {kStandard, "Clip", "Clip", 0, 12},
    {kStandard, "QuantizeLinear", "Quantize"},
    {kStandard, "DequantizeLinear", "DequantizeLinear", 1},
    {kContrib, "QuantizeLinear", "Quantize"},
    {kContrib, "DequantizeLinear", "DequantizeLinear", 1},
    {kStandard, "DynamicQuantizeLinear", "DynamicQuantizeLinear"},
    {kStandard, "Mean", "Mean"},
    {kStandard, "OneHot", "OneHot", 2},
    {kContrib, "FusedGemm", "FusedGemm"},
    {kStandard, "Col2Im", "Col2Im"},
};

constexpr OwnRow kActivation{kStandard, "", "Activation"};

const OwnRow* rowOf(const std::string& domain, const std::string& op) {
  const std::string_view found = isStandardDomain(domain) ? kStandard : std::string_view(domain);
  if (found == kStandard && float64::isOwnActivation(op)) return &kActivation;
  const auto* const row = std::ranges::find_if(kOwn, [&](const OwnRow& r) { return r.domain == found && r.op == op; });
  return row == std::end(kOwn) ? nullptr : row;
}

// Kernels can ask for one text only: a list is handed over as one, joined by commas.
void joinTexts(AttributeProto& attribute) {
  if (attribute.type() != AttributeProto::STRINGS) return;
  std::string joined;
  for (const auto& text : attribute.strings()) joined += (joined.empty() ? "" : ",") + text;
  attribute.clear_strings();
  attribute.set_type(AttributeProto::STRING);
  attribute.set_s(joined);
}

// Trailing inputs and outputs that are not given are not written.
template <class Names>
void dropTrailing(Names& names) {
  while (!names.empty() && names.Get(names.size() - 1).empty()) names.RemoveLast();
}

class OwnKernels {
 public:
  OwnKernels(ModelProto& model, bool unknownIsDouble) : model_(model), unknownIsDouble_(unknownIsDouble) {
    for (const auto& import : model.opset_import()) {
      if (isStandardDomain(import.domain())) opset_ = import.version();
    }
  }

  void use() {
    replaceIn(*model_.mutable_graph(), nullptr);
    if (!used_) return;
    auto& import = *model_.add_opset_import();
    import.set_domain(kFloat64Domain);
    import.set_version(1);
  }

 private:
  void replaceIn(GraphProto& graph, const ElementTypes* outer) {
    ElementTypes types(graph, outer);
    ::google::protobuf::RepeatedPtrField<NodeProto> nodes;
    nodes.Swap(graph.mutable_node());
    for (auto& node : nodes) {
      const OwnRow* row = rowOf(node.domain(), node.op_type());
      if (row && opset_ < row->below && worksOnDoubles(node, *row, types)) {
        const std::string_view kernel = row->kernel == "Quantize" ? quantiser(node, types) : row->kernel;
        if (!kernel.empty()) replace(node, kernel);
        // Shape inference goes by the operator's definition, which may say float32 whatever the inputs are.
        for (const auto& output : node.output()) {
          if (types.of(output) == TensorProto::FLOAT) types.set(output, TensorProto::DOUBLE);
        }
      } else if (row && (row->kernel == "Resize" || row->kernel == "Upsample")) {
        // The scales of an image of integers are float32 by definition; they say no more than a size.
        castInput(node, opset_ < 11 ? 1 : 2, TensorProto::FLOAT, *graph.mutable_node());
      } else if (isStandardDomain(node.domain()) && node.op_type() == "NonZero") {
        castInput(node, 0, TensorProto::BOOL, *graph.mutable_node());  // of doubles the runtime has none
      }
      eachBody(node, [&](GraphProto& body) { replaceIn(body, &types); });
      graph.mutable_node()->Add(std::move(node));
    }
  }

  void castInput(NodeProto& node, int input, int64_t type, ::google::protobuf::RepeatedPtrField<NodeProto>& nodes) {
    if (node.input_size() <= input || node.input(input).empty()) return;
    NodeProto& cast = *nodes.Add();
    cast.set_op_type("Cast");
    cast.add_input(node.input(input));
    cast.add_output("normlens.cast/" + std::to_string(casts_++));
    *cast.add_attribute() = MakeAttribute("to", type);
    node.set_input(input, cast.output(0));
  }

  [[nodiscard]] bool worksOnDoubles(const NodeProto& node, const OwnRow& row, const ElementTypes& types) const {
    if (row.typedInput >= node.input_size()) return unknownIsDouble_;
    const int32_t type = types.of(node.input(row.typedInput));
    return type == TensorProto::DOUBLE || (type == kUnknownType && unknownIsDouble_);
  }

  // The integers that QuantizeLinear makes: those of its zero point, else uint8. Empty: not for our kernels.
  static std::string_view quantiser(const NodeProto& node, const ElementTypes& types) {
    int32_t type = TensorProto::UINT8;
    for (const auto& attribute : node.attribute()) {
      if (attribute.name() == "output_dtype" && attribute.i() != 0) type = static_cast<int32_t>(attribute.i());
    }
    if (node.input_size() > 2 && !node.input(2).empty()) type = types.of(node.input(2));
    return type == TensorProto::UINT8 ? "QuantizeUInt8" : type == TensorProto::INT8 ? "QuantizeInt8" : "";
  }

  void replace(NodeProto& node, std::string_view kernel) {
    if (kernel == "Activation") *node.add_attribute() = MakeAttribute("normlens_op", node.op_type());
    *node.add_attribute() = MakeAttribute(float64::kOpset, opset_);
    for (auto& attribute : *node.mutable_attribute()) joinTexts(attribute);
    node.set_domain(kFloat64Domain);
    node.set_op_type(std::string(kernel));
    node.clear_overload();
    dropTrailing(*node.mutable_input());
    dropTrailing(*node.mutable_output());
    used_ = true;
  }

  ModelProto& model_;
  bool unknownIsDouble_;
  int64_t opset_ = 1;
  int casts_ = 0;
  bool used_ = false;
};

// ---- what has no twin

// Quantising and back, and sums of integers, are fine; operators that do both in one are not.
bool isQuantised(const std::string& op) {
  static constexpr std::array kWords = {"QLinear",
                                        "DynamicQuantizeMatMul",
                                        "DynamicQuantizeLSTM",
                                        "IntegerToFloat",
                                        "MatMulNBits",
                                        "BlockQuantized",
                                        "QuantizeBFP",
                                        "QOrdered",
                                        "MatMulBnb4",
                                        "MatMulFpQ4"};
  static constexpr std::array kNames = {"QAttention", "QGemm", "QMoE", "QEmbedLayerNormalization", "NhwcMaxPool"};
  return std::ranges::any_of(kWords, [&](const char* word) { return op.find(word) != std::string::npos; }) ||
         std::ranges::find(kNames, op) != kNames.end();
}

// Operators that are defined for float32 only, or on its bits.
bool isFloat32Only(const NodeProto& node) {
  static constexpr std::array kNames = {"NonMaxSuppression", "TfIdfVectorizer", "ImageDecoder", "BitCast",
                                        "MelWeightMatrix",   "Multinomial",     "MaxRoiPool"};
  return std::ranges::find(kNames, node.op_type()) != kNames.end();
}

bool isFunctionOf(const ModelProto& model, const NodeProto& node, const Opsets& opsets) {
  const bool named = std::ranges::any_of(model.functions(), [&](const auto& function) {
    return function.name() == node.op_type() &&
           (function.domain() == node.domain() ||
            (isStandardDomain(function.domain()) && isStandardDomain(node.domain())));
  });
  return named && !isRuntimeOp(node, opsets);
}

std::string obstacleIn(const ModelProto& model, const NodeProto& node, const Opsets& opsets, graph::DType to) {
  if (isFunctionOf(model, node, opsets)) return {};
  if (isQuantised(node.op_type())) return "it is quantised (" + node.op_type() + ")";
  if (to != graph::DType::Float32 && isFloat32Only(node)) {
    return node.op_type() + " is not defined in " + std::string(graph::dtypeName(to));
  }
  if (!isStandardDomain(node.domain()) && !isRuntimeDomain(node.domain())) {
    return "the operator " + node.op_type() + " of '" + node.domain() + "' is not known";
  }
  return {};
}

}  // namespace

std::string conversionObstacle(const ModelProto& model, graph::DType to) {
  std::string obstacle;
  const auto look = [&](const auto& nodes, const Opsets& opsets) {
    eachNode(nodes, [&](const NodeProto& node) {
      if (obstacle.empty()) obstacle = obstacleIn(model, node, opsets, to);
    });
  };
  look(model.graph().node(), opsetsOf(model.opset_import()));
  for (const auto& function : model.functions()) look(function.node(), opsetsOf(function.opset_import()));
  return obstacle;
}

std::optional<OwnSignature> ownSignature(const std::string& domain, const std::string& op) {
  const OwnRow* row = rowOf(domain, op);
  if (!row) return std::nullopt;
  for (const auto rows : float64::allKernels()) {
    const auto kernel = std::ranges::find(rows, row->kernel, &float64::KernelRow::name);
    if (kernel != rows.end()) return OwnSignature{row->typedInput, kernel->outputs};
  }
  return std::nullopt;
}

int32_t elementType(char letter) {
  switch (std::tolower(static_cast<unsigned char>(letter))) {
    case 'd':
      return TensorProto::DOUBLE;
    case 'b':
      return TensorProto::INT8;
    case 'u':
      return TensorProto::UINT8;
    case 'i':
      return TensorProto::INT32;
    default:
      return TensorProto::UNDEFINED;
  }
}

void useOwnKernels(ModelProto& model, bool unknownIsDouble) { OwnKernels(model, unknownIsDouble).use(); }

}  // namespace normlens::formats::onnx
