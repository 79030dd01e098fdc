#include "core/formats/onnx/types/retype.h"

#include <onnx/defs/attr_proto_util.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "core/formats/onnx/source/bodies.h"
#include "core/formats/onnx/tensors/float_cast.h"
#include "core/formats/onnx/tensors/tensor_data.h"

namespace normlens::formats::onnx {
namespace {

using ::ONNX_NAMESPACE::AttributeProto;
using ::ONNX_NAMESPACE::MakeAttribute;
using ::ONNX_NAMESPACE::TypeProto;

// Attributes that name in which type an operator computes.
bool isInsideType(std::string_view name) { return name == "stash_type" || name == "softmax_precision"; }

// Attributes that hold an element type.
bool isTypeAttribute(std::string_view name) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "to", "dtype", "output_datatype", "stash_type", "softmax_precision", "output_dtype", "precision"};
  return std::ranges::find(kNames, name) != kNames.end();
}

// The type attribute that means FLOAT when it is missing.
const char* floatByDefault(std::string_view op) {
  static constexpr std::array<std::string_view, 3> kRandom = {"RandomNormal", "RandomUniform", "SequenceEmpty"};
  static constexpr std::array<std::string_view, 4> kWindows = {"HannWindow", "HammingWindow", "BlackmanWindow",
                                                               "MelWeightMatrix"};
  if (std::ranges::find(kRandom, op) != kRandom.end()) return "dtype";
  return std::ranges::find(kWindows, op) == kWindows.end() ? nullptr : "output_datatype";
}

TensorProto floatTensor(const std::vector<int64_t>& dims, const std::vector<float>& values) {
  TensorProto tensor;
  tensor.set_data_type(TensorProto::FLOAT);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  return tensor;
}

class Retyper {
 public:
  explicit Retyper(const Retype& retype) : retype_(retype) {}

  void model(ModelProto& model) {
    eachMessage(model, [&](::google::protobuf::Message& part) {
      const auto* type = part.GetDescriptor();
      if (type == NodeProto::descriptor()) node(static_cast<NodeProto&>(part));
      if (type == AttributeProto::descriptor()) attribute(static_cast<AttributeProto&>(part));
      if (type == TensorProto::descriptor()) tensor(static_cast<TensorProto&>(part));
      if (type == TypeProto::Tensor::descriptor()) elementType(static_cast<TypeProto::Tensor&>(part));
      if (type == TypeProto::SparseTensor::descriptor()) elementType(static_cast<TypeProto::SparseTensor&>(part));
    });
  }

  // Returns whether there was anything to replace.
  [[nodiscard]] bool found() const { return found_; }

 private:
  bool replaces(int32_t type) {
    const bool replaced = retype_.from.contains(type);
    found_ = found_ || replaced;
    return replaced;
  }

  template <class TensorType>
  void elementType(TensorType& type) {
    if (replaces(type.elem_type())) type.set_elem_type(retype_.to);
  }

  void tensor(TensorProto& tensor) {
    if (!replaces(tensor.data_type())) return;
    if (tensor.data_location() == TensorProto::EXTERNAL) {
      tensor.set_data_type(retype_.to);
      return;
    }
    const graph::TensorView view = denseView(viewOf(tensor, nullptr));
    const auto count = static_cast<size_t>(graph::elementCount(view.shape).value_or(0));
    const graph::DType to = fromOnnxType(retype_.to);
    std::string bytes;
    if (view.data && count > 0) {
      const graph::TensorView cast = castFloats(view, to);
      bytes.assign(reinterpret_cast<const char*>(cast.data), count * graph::dtypeBytes(to));
    }
    tensor.clear_float_data();
    tensor.clear_int32_data();
    tensor.clear_double_data();
    tensor.set_raw_data(std::move(bytes));
    tensor.set_data_type(retype_.to);
  }

  void node(NodeProto& node) {
    const bool floats = replaces(TensorProto::FLOAT);
    if (node.op_type() == "Constant" && floats) constant(node);
    if (node.op_type() == "ConstantOfShape" && floats && !findAttribute(node, "value")) {
      *node.add_attribute() = MakeAttribute("value", floatTensor({1}, {0.0F}));
    }
    if (const char* name = floatByDefault(node.op_type()); name && floats && !findAttribute(node, name)) {
      *node.add_attribute() = MakeAttribute(name, int64_t{TensorProto::FLOAT});
    }
  }

  void attribute(AttributeProto& attribute) {
    if (attribute.type() == AttributeProto::INT && isTypeAttribute(attribute.name()) &&
        (retype_.inside || !isInsideType(attribute.name())) && replaces(static_cast<int32_t>(attribute.i()))) {
      attribute.set_i(retype_.to);
    }
  }

  // A float or a list of floats as a tensor, which is then widened.
  static void constant(NodeProto& node) {
    AttributeProto* number = findAttribute(node, "value_float");
    AttributeProto* list = findAttribute(node, "value_floats");
    AttributeProto* given = number ? number : list;
    if (!given || !given->ref_attr_name().empty()) return;
    const std::vector<float> values =
        number ? std::vector<float>{number->f()} : std::vector<float>(list->floats().begin(), list->floats().end());
    const auto dims = number ? std::vector<int64_t>{} : std::vector<int64_t>{list->floats_size()};
    *given = MakeAttribute("value", floatTensor(dims, values));
  }

  const Retype& retype_;
  bool found_ = false;
};

}  // namespace

Retype allFloatsTo(graph::DType dtype) {
  Retype retype{{TensorProto::FLOAT, TensorProto::FLOAT16, TensorProto::BFLOAT16, TensorProto::DOUBLE},
                toOnnxType(dtype),
                dtype == graph::DType::Float64};
  retype.from.erase(retype.to);
  return retype;
}

Retype bfloat16ToFloat32() { return {{TensorProto::BFLOAT16}, TensorProto::FLOAT}; }

void retypeModel(ModelProto& model, const Retype& retype) { Retyper(retype).model(model); }

Weights retypeWeights(const Weights& weights, const Retype& retype,
                      const std::function<void(const graph::TensorView&)>& read) {
  Weights out;
  for (const auto& [name, weight] : weights) {
    Weight& made = out[name] = weight;
    if (!retype.from.contains(toOnnxType(weight.view.dtype))) continue;
    made.view = castFloats(denseView(weight.view), fromOnnxType(retype.to));
    if (read) read(weight.view);
    made.asOpened = false;
    made.field = TensorProto::kRawDataFieldNumber;
  }
  return out;
}

bool mentionsType(const ModelProto& model, int32_t type) {
  const Retype byItself{{type}, type};
  ModelProto copy = model;
  Retyper retyper(byItself);
  retyper.model(copy);
  return retyper.found();
}

}  // namespace normlens::formats::onnx
