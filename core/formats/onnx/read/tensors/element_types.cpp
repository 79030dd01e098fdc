#include "core/formats/onnx/read/tensors/element_types.h"

#include <onnx/shape_inference/implementation.h>

#include "core/formats/onnx/run/runtime_schemas.h"

namespace normlens::formats::onnx {
namespace {

using ::ONNX_NAMESPACE::TypeProto;

int32_t typeOf(const ::ONNX_NAMESPACE::ValueInfoProto& value) {
  const TypeProto& type = value.type();
  if (type.has_tensor_type()) return type.tensor_type().elem_type();
  return type.value_case() == TypeProto::VALUE_NOT_SET ? kUnknownType : kNotATensor;
}

}  // namespace

ElementTypes::ElementTypes(const GraphProto& graph, const ElementTypes* outer) : outer_(outer) {
  for (const auto& value : graph.value_info()) types_[value.name()] = typeOf(value);
  for (const auto& value : graph.output()) types_[value.name()] = typeOf(value);
  for (const auto& value : graph.input()) types_[value.name()] = typeOf(value);
  for (const auto& tensor : graph.initializer()) types_[tensor.name()] = tensor.data_type();
  for (const auto& tensor : graph.sparse_initializer()) types_[tensor.values().name()] = tensor.values().data_type();
}

int32_t ElementTypes::of(const std::string& name) const {
  for (const ElementTypes* types = this; types != nullptr; types = types->outer_) {
    const auto found = types->types_.find(name);
    if (found != types->types_.end() && found->second != kUnknownType) return found->second;
  }
  return kUnknownType;
}

void inferTypes(ModelProto& model) {
  const RuntimeSchemas schemas;
  try {
    ::ONNX_NAMESPACE::shape_inference::InferShapes(model, &schemas);
  } catch (const std::exception&) {
    // Types that were found until then stay.
  }
}

}  // namespace normlens::formats::onnx
