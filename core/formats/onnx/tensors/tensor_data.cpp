#include "core/formats/onnx/tensors/tensor_data.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace normlens::formats::onnx {
namespace {

using graph::DType;
using graph::Shape;
using graph::TensorView;

struct TypeRow {
  int32_t onnx;
  DType dtype;
  int bits;
};

constexpr std::array kTypes = {
    TypeRow{TensorProto::FLOAT, DType::Float32, 32},
    TypeRow{TensorProto::UINT8, DType::UInt8, 8},
    TypeRow{TensorProto::INT8, DType::Int8, 8},
    TypeRow{TensorProto::UINT16, DType::Unknown, 16},
    TypeRow{TensorProto::INT16, DType::Int16, 16},
    TypeRow{TensorProto::INT32, DType::Int32, 32},
    TypeRow{TensorProto::INT64, DType::Int64, 64},
    TypeRow{TensorProto::STRING, DType::Unknown, 0},
    TypeRow{TensorProto::BOOL, DType::Bool, 8},
    TypeRow{TensorProto::FLOAT16, DType::Float16, 16},
    TypeRow{TensorProto::DOUBLE, DType::Float64, 64},
    TypeRow{TensorProto::UINT32, DType::Unknown, 32},
    TypeRow{TensorProto::UINT64, DType::Unknown, 64},
    TypeRow{TensorProto::COMPLEX64, DType::Complex64, 64},
    TypeRow{TensorProto::COMPLEX128, DType::Complex128, 128},
    TypeRow{TensorProto::BFLOAT16, DType::BFloat16, 16},
    TypeRow{TensorProto::FLOAT8E4M3FN, DType::Quantized, 8},
    TypeRow{TensorProto::FLOAT8E4M3FNUZ, DType::Quantized, 8},
    TypeRow{TensorProto::FLOAT8E5M2, DType::Quantized, 8},
    TypeRow{TensorProto::FLOAT8E5M2FNUZ, DType::Quantized, 8},
    TypeRow{TensorProto::UINT4, DType::Quantized, 4},
    TypeRow{TensorProto::INT4, DType::Quantized, 4},
    TypeRow{TensorProto::FLOAT4E2M1, DType::Quantized, 4},
    TypeRow{TensorProto::FLOAT8E8M0, DType::Quantized, 8},
    TypeRow{TensorProto::UINT2, DType::Quantized, 2},
    TypeRow{TensorProto::INT2, DType::Quantized, 2},
    TypeRow{TensorProto::FLOAT6E2M3, DType::Quantized, 6},
    TypeRow{TensorProto::FLOAT6E3M2, DType::Quantized, 6},
};

const TypeRow* rowOf(int32_t elementType) {
  for (const TypeRow& row : kTypes) {
    if (row.onnx == elementType) return &row;
  }
  return nullptr;
}

// Elements that a typed field must hold: complex numbers take two, packed types one byte each.
uint64_t typedCount(const TensorProto& tensor, uint64_t elements) {
  const int bits = onnxTypeBits(tensor.data_type());
  if (tensor.data_type() == TensorProto::COMPLEX64 || tensor.data_type() == TensorProto::COMPLEX128)
    return 2 * elements;
  if (bits == 4 || bits == 2) return (elements * static_cast<uint64_t>(bits) + 7) / 8;
  return elements;
}

// The field that holds the elements of a tensor without raw data.
struct TypedField {
  int size = 0;
  const void* elements = nullptr;  // null: they do not lie there as ours do
};

TypedField typedField(const TensorProto& tensor) {
  switch (tensor.data_type()) {
    case TensorProto::FLOAT:
    case TensorProto::COMPLEX64:
      return {tensor.float_data_size(), tensor.float_data().data()};
    case TensorProto::DOUBLE:
    case TensorProto::COMPLEX128:
      return {tensor.double_data_size(), tensor.double_data().data()};
    case TensorProto::INT64:
      return {tensor.int64_data_size(), tensor.int64_data().data()};
    case TensorProto::UINT32:
    case TensorProto::UINT64:
      return {tensor.uint64_data_size()};
    case TensorProto::STRING:
      return {tensor.string_data_size()};
    case TensorProto::INT32:
      return {tensor.int32_data_size(), tensor.int32_data().data()};
    default:
      return {tensor.int32_data_size()};
  }
}

// int32_data holds one element each of the narrower types.
template <class T>
TensorView fromInt32(const TensorProto& tensor, TensorView view) {
  auto memory = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(tensor.int32_data_size()) * sizeof(T));
  for (int i = 0; i < tensor.int32_data_size(); ++i) {
    const auto element = static_cast<T>(tensor.int32_data(i));
    std::memcpy(memory->data() + static_cast<size_t>(i) * sizeof(T), &element, sizeof(T));
  }
  view.data = memory->data();
  view.owner = std::move(memory);
  return view;
}

template <class T>
std::vector<int64_t> widen(const std::byte* data, size_t count) {
  std::vector<int64_t> out(count);
  for (size_t i = 0; i < count; ++i) {
    T element;
    std::memcpy(&element, data + i * sizeof(T), sizeof(T));
    out[i] = static_cast<int64_t>(element);  // NOLINT(bugprone-signed-char-misuse): int8 is a number
  }
  return out;
}

std::string sizes(uint64_t has, uint64_t expected, const char* unit) {
  return std::to_string(has) + unit + ", its dimensions ask for " + std::to_string(expected);
}

}  // namespace

DType fromOnnxType(int32_t elementType) {
  const TypeRow* row = rowOf(elementType);
  return row == nullptr ? DType::Unknown : row->dtype;
}

int32_t toOnnxType(DType dtype) {
  if (dtype == DType::Unknown || dtype == DType::Quantized) return TensorProto::UNDEFINED;
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) return row.onnx;
  }
  return TensorProto::UNDEFINED;
}

bool isKnownOnnxType(int32_t elementType) { return rowOf(elementType) != nullptr; }

int onnxTypeBits(int32_t elementType) {
  const TypeRow* row = rowOf(elementType);
  return row == nullptr ? 0 : row->bits;
}

std::vector<int64_t> denseStrides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<int64_t>(shape[i], 1);
  return strides;
}

bool isAbsurd(const Shape& shape) {
  constexpr int64_t kMost = int64_t{1} << 53;
  int64_t product = 1;
  for (const int64_t size : shape) {
    if (size > kMost / product) return true;
    product *= std::max<int64_t>(size, 1);
  }
  return false;
}

Shape dimsOf(const TensorProto& tensor) { return {tensor.dims().begin(), tensor.dims().end()}; }

std::optional<uint64_t> rawBytes(const TensorProto& tensor) {
  const auto elements = graph::elementCount(dimsOf(tensor));
  const auto bits = static_cast<uint64_t>(onnxTypeBits(tensor.data_type()));
  if (!elements || bits == 0) return std::nullopt;
  if (static_cast<uint64_t>(*elements) > std::numeric_limits<int64_t>::max() / bits) return std::nullopt;
  return (static_cast<uint64_t>(*elements) * bits + 7) / 8;
}

Status checkTensor(const TensorProto& tensor) {
  const auto wrong = [&](const std::string& text) { return fail(ErrorCode::Unreadable, text); };
  if (!isKnownOnnxType(tensor.data_type()))
    return wrong("has an unknown element type (" + std::to_string(tensor.data_type()) + ")");
  if (std::ranges::any_of(tensor.dims(), [](int64_t size) { return size < 0; }))
    return wrong("has a negative dimension");
  if (tensor.dims_size() > kMostAxes)
    return wrong("has " + std::to_string(tensor.dims_size()) + " dimensions, more than NormLens reads (" +
                 std::to_string(kMostAxes) + ")");
  const auto elements = graph::elementCount(dimsOf(tensor));
  const auto expected = rawBytes(tensor);
  const bool isText = tensor.data_type() == TensorProto::STRING;
  if (!elements || (!expected && !isText) || isAbsurd(dimsOf(tensor)))
    return wrong("has absurd dimensions: their product overflows");
  if (tensor.has_segment()) return wrong("is stored in segments, which ONNX does not define any more");
  if (tensor.data_location() == TensorProto::EXTERNAL) return {};
  if (tensor.has_raw_data()) {
    if (isText) return wrong("holds strings as raw bytes");
    if (tensor.raw_data().size() != *expected)
      return wrong("has " + sizes(tensor.raw_data().size(), *expected, " bytes"));
    return {};
  }
  const auto has = static_cast<uint64_t>(typedField(tensor).size);
  const uint64_t wanted = typedCount(tensor, static_cast<uint64_t>(*elements));
  if (has != wanted) return wrong("has " + sizes(has, wanted, " elements"));
  return {};
}

TensorView viewWithoutData(const TensorProto& tensor, std::shared_ptr<const void> owner) {
  const Shape shape = dimsOf(tensor);
  return {nullptr, fromOnnxType(tensor.data_type()), shape, denseStrides(shape), std::move(owner)};
}

TensorView viewOf(const TensorProto& tensor, std::shared_ptr<const void> owner) {
  TensorView view = viewWithoutData(tensor, std::move(owner));
  if (view.dtype == DType::Unknown || view.dtype == DType::Quantized || tensor.data_location() == TensorProto::EXTERNAL)
    return view;
  if (tensor.has_raw_data()) {
    view.data = reinterpret_cast<const std::byte*>(tensor.raw_data().data());
    return view;
  }
  switch (tensor.data_type()) {
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16:
      return fromInt32<uint16_t>(tensor, std::move(view));
    case TensorProto::INT16:
      return fromInt32<int16_t>(tensor, std::move(view));
    case TensorProto::INT8:
    case TensorProto::UINT8:
      return fromInt32<uint8_t>(tensor, std::move(view));
    case TensorProto::BOOL:
      return fromInt32<bool>(tensor, std::move(view));
    default:
      view.data = static_cast<const std::byte*>(typedField(tensor).elements);
      return view;
  }
}

std::optional<std::vector<int64_t>> intsOf(const TensorView& view) {
  constexpr int64_t kMost = 4096;
  const int64_t count = graph::elementCount(view.shape).value_or(kMost + 1);
  if (count > kMost || (view.data == nullptr && count > 0)) return std::nullopt;
  const auto elements = static_cast<size_t>(count);
  switch (view.dtype) {
    case DType::Int64:
      return widen<int64_t>(view.data, elements);
    case DType::Int32:
      return widen<int32_t>(view.data, elements);
    case DType::Int16:
      return widen<int16_t>(view.data, elements);
    case DType::Int8:
      return widen<int8_t>(view.data, elements);
    case DType::UInt8:
    case DType::Bool:
      return widen<uint8_t>(view.data, elements);
    default:
      return std::nullopt;
  }
}

}  // namespace normlens::formats::onnx
