#include "core/formats/onnx/tensors/tensor_store.h"

#include <algorithm>
#include <cstring>

#include "core/formats/onnx/tensors/tensor_data.h"

namespace normlens::formats::onnx {
namespace {

template <class Element, class Field>
void fillField(Field& field, std::span<const std::byte> bytes) {
  field.Clear();
  for (size_t at = 0; at + sizeof(Element) <= bytes.size(); at += sizeof(Element)) {
    Element element;
    std::memcpy(&element, bytes.data() + at, sizeof(Element));
    field.Add(element);
  }
}

std::string textOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool storeValue(::ONNX_NAMESPACE::AttributeProto& attribute, const graph::TensorView& view) {
  const auto bytes = bytesOf(view);
  const bool givenByCall = !attribute.ref_attr_name().empty();
  if (attribute.name() == "value") {
    if (!givenByCall) {
      if (!attribute.has_t()) return false;
      auto& dims = *attribute.mutable_t()->mutable_dims();
      if (!std::ranges::equal(dims, view.shape)) dims.Assign(view.shape.begin(), view.shape.end());
      return storeTensor(*attribute.mutable_t(), bytes);
    }
    *attribute.mutable_t() = rawTensor("", view.dtype, view.shape, bytes);
  } else if (attribute.name() == "value_float" && bytes.size() == sizeof(float)) {
    float number = 0;
    std::memcpy(&number, bytes.data(), sizeof number);
    attribute.set_f(number);
  } else if (attribute.name() == "value_floats" &&
             (givenByCall || bytes.size() == static_cast<size_t>(attribute.floats_size()) * sizeof(float))) {
    fillField<float>(*attribute.mutable_floats(), bytes);
  } else {
    return false;
  }
  attribute.clear_ref_attr_name();
  return true;
}

}  // namespace

std::span<const std::byte> bytesOf(const graph::TensorView& view) {
  const auto elements = static_cast<size_t>(graph::elementCount(view.shape).value_or(0));
  return {view.data, elements * graph::dtypeBytes(view.dtype)};
}

bool storeTensor(TensorProto& tensor, std::span<const std::byte> bytes) {
  if (tensor.data_location() == TensorProto::EXTERNAL) return false;
  int64_t elements = 1;
  for (const int64_t dim : tensor.dims()) elements *= dim;
  const auto size = graph::dtypeBytes(fromOnnxType(tensor.data_type()));
  if (elements < 0 || static_cast<uint64_t>(elements) * size != bytes.size()) return false;
  const bool raw = tensor.has_raw_data();
  switch (tensor.data_type()) {
    case TensorProto::FLOAT:
      if (!raw) fillField<float>(*tensor.mutable_float_data(), bytes);
      break;
    case TensorProto::DOUBLE:
      if (!raw) fillField<double>(*tensor.mutable_double_data(), bytes);
      break;
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16:
      if (!raw) fillField<uint16_t>(*tensor.mutable_int32_data(), bytes);
      break;
    default:
      return false;
  }
  if (raw) tensor.set_raw_data(textOf(bytes));
  return true;
}

bool storeConstant(NodeProto& node, const graph::TensorView& view) {
  auto& attributes = *node.mutable_attribute();
  return std::any_of(attributes.begin(), attributes.end(), [&](auto& one) { return storeValue(one, view); });
}

TensorProto rawTensor(const std::string& name, graph::DType dtype, const graph::Shape& shape,
                      std::span<const std::byte> bytes) {
  TensorProto tensor;
  for (const int64_t dim : shape) tensor.add_dims(dim);
  tensor.set_data_type(toOnnxType(dtype));
  tensor.set_name(name);
  tensor.set_raw_data(textOf(bytes));
  return tensor;
}

}  // namespace normlens::formats::onnx
