#include "core/formats/onnx/float64/float64_ops.h"

#include <onnx/defs/attr_proto_util.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <sstream>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/formats/onnx/float64/element_types.h"
#include "core/formats/onnx/source/bodies.h"
#include "core/formats/onnx/source/operators.h"
#include "core/formats/onnx/types/flatten_functions.h"
#include "core/formats/onnx/types/retype.h"

namespace normlens::formats::onnx {
namespace {

using float64::KernelRow;
using ::ONNX_NAMESPACE::AttributeProto;
using ::ONNX_NAMESPACE::FunctionProto;
using ::ONNX_NAMESPACE::MakeAttribute;
using ::ONNX_NAMESPACE::TypeProto;

// Kernels can read one text only: a list is handed over as one, joined by commas.
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

// ---- what the onnx library writes out

// A group's norm is not among them: it shares LayerNorm's kernel, which does not cancel as its body does.
bool isWrittenOut(const NodeProto& node) {
  static constexpr std::array<std::string_view, 9> kOps = {"Attention", "Celu",      "DynamicQuantizeLinear",
                                                           "Gelu",      "HardSwish", "MeanVarianceNormalization",
                                                           "Mish",      "Swish",     "RotaryEmbedding"};
  return isStandardDomain(node.domain()) && std::ranges::find(kOps, node.op_type()) != kOps.end();
}

// With the shape, as far as it is inferred; bodies mostly depend on the number of axes.
TypeProto typeIn(const GraphProto& graph, const std::string& name) {
  for (const auto* infos : {&graph.value_info(), &graph.input(), &graph.output()}) {
    for (const auto& info : *infos) {
      if (info.name() == name) return info.type();
    }
  }
  TypeProto type;
  for (const auto& tensor : graph.initializer()) {
    if (tensor.name() != name) continue;
    type.mutable_tensor_type()->set_elem_type(tensor.data_type());
    for (const int64_t size : tensor.dims())
      type.mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(size);
  }
  return type;
}

// Makes such nodes calls of functions of the model, which are then written out as any other.
class Bodies {
 public:
  Bodies(ModelProto& model, bool unknownIsDouble)
      : model_(model),
        unknownIsDouble_(unknownIsDouble),
        opset_(static_cast<int>(opsetsOf(model.opset_import())[""])) {}

  void writeOut() {
    bool any = false;
    eachNode(std::as_const(model_), [&](const NodeProto& node) { any = any || isWrittenOut(node); });
    if (!any) return;
    ModelProto before = model_;
    call(*model_.mutable_graph(), nullptr);
    retypeModel(functions_, allFloatsTo(graph::DType::Float64));
    *model_.mutable_functions() = functions_.functions();
    std::vector<TapSite> taps;
    if (flattenFunctions(model_, {}, taps, "normlens.body/")) {
      inferTypes(model_);
    } else {
      model_ = std::move(before);
    }
  }

 private:
  void call(GraphProto& graph, const ElementTypes* outer) {
    const ElementTypes types(graph, outer);
    for (NodeProto& node : *graph.mutable_node()) {
      eachBody(node, [&](GraphProto& body) { call(body, &types); });
      if (!isWrittenOut(node) || node.input_size() == 0) continue;
      const int32_t type = types.of(node.input(0));
      if (type != TensorProto::DOUBLE && !(type == kUnknownType && unknownIsDouble_)) continue;
      if (auto body = bodyOf(node, graph)) {
        body->set_domain(kFloat64Domain);
        body->set_name(node.op_type() + std::to_string(functions_.functions_size()));
        node.set_domain(kFloat64Domain);
        node.set_op_type(body->name());
        *functions_.add_functions() = std::move(*body);
      }
    }
  }

  [[nodiscard]] std::optional<FunctionProto> bodyOf(const NodeProto& node, const GraphProto& graph) const {
    const auto* schema = ::ONNX_NAMESPACE::OpSchemaRegistry::Schema(node.op_type(), opset_, "");
    if (schema == nullptr) return std::nullopt;
    FunctionProto body;
    if (const FunctionProto* fixed = schema->GetFunction(opset_)) {
      body = *fixed;
    } else {
      std::vector<TypeProto> types;
      for (const auto& input : node.input()) types.push_back(typeIn(graph, input));
      // Its body is that of four axes where their number is not known.
      if (node.op_type() == "Attention" && !types.front().tensor_type().has_shape()) return std::nullopt;
      const ::ONNX_NAMESPACE::FunctionBodyBuildContextImpl context(node, types);
      if (!schema->HasContextDependentFunction() || !schema->BuildContextDependentFunction(context, body, opset_))
        return std::nullopt;
    }
    for (const auto& [name, attribute] : schema->attributes()) {
      if (attribute.default_value.has_type()) *body.add_attribute_proto() = attribute.default_value;
    }
    return body;
  }

  ModelProto& model_;
  bool unknownIsDouble_;
  int opset_;
  ModelProto functions_;
};

// ---- what has a kernel of ours

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
      const KernelRow* row = kernelFor(node.domain(), node.op_type());
      const bool scaled = row && (row->name == std::string_view("Resize") || row->name == std::string_view("Upsample"));
      if (row && opset_ < row->below && worksOnDoubles(node, *row, types)) {
        const std::string kernel = node.op_type() == "QuantizeLinear" ? quantiser(node, types) : row->name;
        if (!kernel.empty()) replace(node, kernel);
        // Shape inference goes by the operator's definition, which may be float32 whatever the inputs are.
        for (const auto& output : node.output()) {
          if (types.of(output) == TensorProto::FLOAT) types.set(output, TensorProto::DOUBLE);
        }
      } else if (scaled) {
        // The scales of an image of integers are float32 by definition; they mean no more than a size.
        castInput(node, opset_ < 11 ? 1 : 2, TensorProto::FLOAT, *graph.mutable_node());
      } else if (isStandardDomain(node.domain()) && node.op_type() == "NonZero") {
        castInput(node, 0, TensorProto::BOOL, *graph.mutable_node());  // The runtime has none for doubles.
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

  [[nodiscard]] bool worksOnDoubles(const NodeProto& node, const KernelRow& row, const ElementTypes& types) const {
    if (row.typedInput >= node.input_size()) return unknownIsDouble_;
    const int32_t type = types.of(node.input(row.typedInput));
    return type == TensorProto::DOUBLE || (type == kUnknownType && unknownIsDouble_);
  }

  // The integers that QuantizeLinear makes: those of its zero point, else uint8. Empty: not for our kernels.
  static std::string quantiser(const NodeProto& node, const ElementTypes& types) {
    int32_t type = TensorProto::UINT8;
    for (const auto& attribute : node.attribute()) {
      if (attribute.name() == "output_dtype" && attribute.i() != 0) type = static_cast<int32_t>(attribute.i());
    }
    if (node.input_size() > 2 && !node.input(2).empty()) type = types.of(node.input(2));
    return type == TensorProto::UINT8 ? "QuantizeUInt8" : type == TensorProto::INT8 ? "QuantizeInt8" : "";
  }

  void replace(NodeProto& node, const std::string& kernel) {
    if (kernel == float64::kActivationKernel) *node.add_attribute() = MakeAttribute("normlens_op", node.op_type());
    *node.add_attribute() = MakeAttribute(float64::kOpset, opset_);
    for (auto& attribute : *node.mutable_attribute()) joinTexts(attribute);
    node.set_domain(kFloat64Domain);
    node.set_op_type(kernel);
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

const KernelRow* kernelFor(const std::string& domain, const std::string& op) {
  static const auto kernels = [] {
    std::unordered_map<std::string, const KernelRow*> byOperator;
    for (const auto rows : float64::allKernels()) {
      for (const KernelRow& row : rows) {
        std::istringstream served(row.serves ? row.serves : row.name);
        for (std::string one; served >> one;) byOperator[one] = &row;
      }
    }
    return byOperator;
  }();
  const bool standard = isStandardDomain(domain);
  const bool activation = standard && float64::isOwnActivation(op);
  const auto found = kernels.find(activation ? float64::kActivationKernel : standard ? op : domain + "." + op);
  return found == kernels.end() ? nullptr : found->second;
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

void useOwnKernels(ModelProto& model, bool unknownIsDouble) {
  Bodies(model, unknownIsDouble).writeOut();
  OwnKernels(model, unknownIsDouble).use();
}

}  // namespace normlens::formats::onnx
