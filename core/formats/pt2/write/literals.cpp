#include "core/formats/pt2/write/literals.h"

#include "core/formats/edit/edit_refused.h"
#include "core/formats/pt2/file/tensor_meta.h"
#include "core/formats/torchscript/program/tensor_convert.h"

namespace normlens::formats::pt2 {
namespace {

using c10::IValue;
using c10::TypeKind;

Json as(const char* kind, Json value) { return {Json::Object{{kind, std::move(value)}}}; }

template <class Numbers>
Json list(const char* kind, const Numbers& numbers) {
  Json::Array items;
  for (const auto& number : numbers) items.emplace_back(number);
  return as(kind, {std::move(items)});
}

TypeKind innermost(c10::TypePtr type) {
  while (type->kind() == TypeKind::OptionalType) type = type->expectRef<c10::OptionalType>().getElementType();
  return type->kind();
}

Json deviceArgument(const c10::Device& device) {
  Json index = device.has_index() ? Json(static_cast<int64_t>(device.index())) : Json();
  return as("as_device", {Json::Object{{"type", Json(c10::DeviceTypeName(device.type(), /*lower_case=*/true))},
                                       {"index", std::move(index)}}});
}

Json elementType(int64_t number) {
  const int64_t schema = schemaNumber(torchscript::dtypeOf(static_cast<at::ScalarType>(number)));
  if (schema == 0) throw EditRefused("an element type has no number in the file's schema");
  return as("as_scalar_type", {schema});
}

}  // namespace

Json literalArgument(const IValue& value, const c10::TypePtr& type) {
  if (value.isNone()) return as("as_none", {true});
  if (value.isInt()) {
    const TypeKind wanted = innermost(type);
    if (wanted == TypeKind::ScalarTypeType) return elementType(value.toInt());
    if (wanted == TypeKind::LayoutType || wanted == TypeKind::MemoryFormatType)
      throw EditRefused("an argument that an edit gives has no form in the file");
    return as("as_int", {value.toInt()});
  }
  // A number in a tensor's place, which the translation made a tensor.
  if (value.isTensor() && value.toTensor().dim() == 0) return literalArgument(value.toTensor().item(), type);
  if (value.isDouble()) return as("as_float", {value.toDouble()});
  if (value.isBool()) return as("as_bool", {value.toBool()});
  if (value.isString()) return as("as_string", {value.toStringRef()});
  if (value.isDevice()) return deviceArgument(value.toDevice());
  if (value.isIntList()) return list("as_ints", value.toIntVector());
  if (value.isDoubleList()) return list("as_floats", value.toDoubleVector());
  throw EditRefused("an argument that an edit gives has no form in the file");
}

Json namedArgument(const std::string& name, const c10::Type& type) {
  const auto symbol = [&](const char* kind) { return as(kind, as("as_name", {name})); };
  switch (type.kind()) {
    case TypeKind::IntType:
      return symbol("as_sym_int");
    case TypeKind::FloatType:
      return symbol("as_sym_float");
    case TypeKind::BoolType:
      return symbol("as_sym_bool");
    default:
      return as("as_tensor", as("name", {name}));
  }
}

}  // namespace normlens::formats::pt2
