#include "core/formats/pt2/file/tensor_meta.h"

#include <algorithm>
#include <array>
#include <utility>

namespace normlens::formats::pt2 {
namespace {

using graph::DType;

constexpr size_t kMostAxes = 64;
constexpr int64_t kStrided = 7;  // Layout.Strided of the schema

constexpr std::array<std::pair<int64_t, DType>, 12> kDTypes = {{{1, DType::UInt8},
                                                                {2, DType::Int8},
                                                                {3, DType::Int16},
                                                                {4, DType::Int32},
                                                                {5, DType::Int64},
                                                                {6, DType::Float16},
                                                                {7, DType::Float32},
                                                                {8, DType::Float64},
                                                                {10, DType::Complex64},
                                                                {11, DType::Complex128},
                                                                {12, DType::Bool},
                                                                {13, DType::BFloat16}}};

std::vector<SymSize> sizesOf(const Json& list) {
  if (list.items().size() > kMostAxes) throw BrokenDocument("a tensor has more than 64 axes");
  std::vector<SymSize> out;
  for (const Json& item : list.items()) out.push_back(readSymSize(item));
  return out;
}

}  // namespace

graph::DType dtypeOfSchema(int64_t number) {
  const auto* const found = std::ranges::find(kDTypes, number, &std::pair<int64_t, DType>::first);
  return found == kDTypes.end() ? DType::Unknown : found->second;
}

int64_t schemaNumber(graph::DType dtype) {
  const auto* const found = std::ranges::find(kDTypes, dtype, &std::pair<int64_t, DType>::second);
  return found == kDTypes.end() ? 0 : found->first;
}

SymSize readSymSize(const Json& json) {
  const auto& [kind, value] = json.only();
  SymSize size;
  if (kind == "as_int") {
    size.example = size.expr.value = value.integer();
    return size;
  }
  if (kind != "as_expr") throw BrokenDocument("a size is written as '" + kind.substr(0, 40) + "'");
  auto expr = parseSymExpr(value.at("expr_str").text());
  if (!expr) throw BrokenDocument(expr.error().message);
  size.expr = std::move(*expr);
  const Json* hint = value.find("hint");
  const Json* example = hint == nullptr ? nullptr : hint->find("as_int");
  size.example = example == nullptr ? -1 : example->integer();
  return size;
}

TensorMeta readTensorMeta(const Json& json) {
  TensorMeta meta;
  meta.schemaDType = json.at("dtype").integer();
  meta.dtype = dtypeOfSchema(meta.schemaDType);
  meta.sizes = sizesOf(json.at("sizes"));
  meta.strides = sizesOf(json.at("strides"));
  meta.offset = readSymSize(json.at("storage_offset"));
  const Json* layout = json.find("layout");
  if (layout != nullptr && layout->integer() != kStrided) throw BrokenDocument("a tensor is sparse");
  if (meta.sizes.size() != meta.strides.size()) throw BrokenDocument("a tensor has not as many strides as sizes");
  return meta;
}

std::optional<graph::Shape> TensorMeta::exampleShape() const {
  graph::Shape shape;
  for (const SymSize& size : sizes) {
    if (size.example < 0) return std::nullopt;
    shape.push_back(size.example);
  }
  return shape;
}

}  // namespace normlens::formats::pt2
