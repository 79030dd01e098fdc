#include "core/graph/types.h"

#include <array>
#include <cstring>
#include <limits>

#include "core/base/small_vector.h"
#include "core/graph/half.h"

namespace normlens::graph {
namespace {

struct DTypeRow {
  DType dtype;
  std::string_view name;
  size_t bytes;
  int mantissa;
  int exponent;
};

constexpr std::array<DTypeRow, 14> kDTypes = {{
    {DType::Unknown, "?", 0, 0, 0},
    {DType::Bool, "bool", 1, 0, 0},
    {DType::UInt8, "uint8", 1, 0, 0},
    {DType::Int8, "int8", 1, 0, 0},
    {DType::Int16, "int16", 2, 0, 0},
    {DType::Int32, "int32", 4, 0, 0},
    {DType::Int64, "int64", 8, 0, 0},
    {DType::Float16, "float16", 2, 10, 5},
    {DType::BFloat16, "bfloat16", 2, 7, 8},
    {DType::Float32, "float32", 4, 23, 8},
    {DType::Float64, "float64", 8, 52, 11},
    {DType::Complex64, "complex64", 8, 0, 0},
    {DType::Complex128, "complex128", 16, 0, 0},
    {DType::Quantized, "quantized", 0, 0, 0},
}};

const DTypeRow& row(DType dtype) { return kDTypes.at(static_cast<size_t>(dtype)); }

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

using ReadElement = double (*)(const std::byte*);

ReadElement reader(DType dtype) {
  switch (dtype) {
    case DType::Bool:
    case DType::UInt8:
      return [](const std::byte* p) { return static_cast<double>(load<uint8_t>(p)); };
    case DType::Int8:
      return [](const std::byte* p) { return static_cast<double>(load<int8_t>(p)); };
    case DType::Int16:
      return [](const std::byte* p) { return static_cast<double>(load<int16_t>(p)); };
    case DType::Int32:
      return [](const std::byte* p) { return static_cast<double>(load<int32_t>(p)); };
    case DType::Int64:
      return [](const std::byte* p) { return static_cast<double>(load<int64_t>(p)); };
    case DType::Float16:
      return [](const std::byte* p) { return static_cast<double>(halfToFloat(load<uint16_t>(p))); };
    case DType::BFloat16:
      return [](const std::byte* p) { return static_cast<double>(bfloat16ToFloat(load<uint16_t>(p))); };
    case DType::Float32:
      return [](const std::byte* p) { return static_cast<double>(load<float>(p)); };
    case DType::Float64:
      return [](const std::byte* p) { return load<double>(p); };
    default:
      return nullptr;
  }
}

}  // namespace

std::string_view dtypeName(DType dtype) { return row(dtype).name; }

DType dtypeFromName(std::string_view name) {
  for (const auto& entry : kDTypes) {
    if (entry.name == name) return entry.dtype;
  }
  return DType::Unknown;
}

size_t dtypeBytes(DType dtype) { return row(dtype).bytes; }
int mantissaBits(DType dtype) { return row(dtype).mantissa; }
int exponentBits(DType dtype) { return row(dtype).exponent; }
bool isFloat(DType dtype) { return row(dtype).mantissa > 0; }

bool castIsExact(DType from, DType to) {
  if (from == to) return from != DType::Unknown;
  return isFloat(from) && isFloat(to) && mantissaBits(to) >= mantissaBits(from) &&
         exponentBits(to) >= exponentBits(from);
}

std::optional<int64_t> elementCount(const Shape& shape) {
  int64_t count = 1;
  bool empty = false;
  for (const int64_t size : shape) {
    if (size < 0) return std::nullopt;
    if (size == 0) empty = true;
    if (!empty && size != 0 && count > std::numeric_limits<int64_t>::max() / size) return std::nullopt;
    count *= empty ? 0 : size;
  }
  return count;
}

bool TensorView::contiguous() const {
  int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

int64_t byteCount(const TensorView& view) {
  return elementCount(view.shape).value_or(0) * static_cast<int64_t>(dtypeBytes(view.dtype));
}

namespace {

// A tensor of another layout, whose elements no pointer shows.
bool hasShapeOnly(const TensorView& view, int64_t count) { return view.data == nullptr && count > 0; }

// In row-major order, as long as `take` wants more; whether it took all.
template <class Take>
bool eachElement(const TensorView& view, int64_t count, Take take) {
  const auto bytes = static_cast<int64_t>(dtypeBytes(view.dtype));
  SmallVector<int64_t, 4> index(view.shape.size(), 0);
  int64_t offset = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (!take(view.data + offset * bytes)) return false;
    for (size_t axis = index.size(); axis-- > 0;) {
      offset += view.strides[axis];
      if (++index[axis] < view.shape[axis]) break;
      offset -= view.strides[axis] * view.shape[axis];
      index[axis] = 0;
    }
  }
  return true;
}

// Converts what outputs mostly are, without computing for each element where it lies and what it is.
template <class T>
std::vector<double> denseToDoubles(const std::byte* data, int64_t count) {
  std::vector<double> out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); ++i) {
    T value;
    std::memcpy(&value, data + i * sizeof(T), sizeof(T));
    out[i] = static_cast<double>(value);
  }
  return out;
}

}  // namespace

std::optional<std::vector<double>> toDoubles(const TensorView& view) {
  const auto read = reader(view.dtype);
  const auto count = elementCount(view.shape);
  if (read == nullptr || !count || hasShapeOnly(view, *count)) return std::nullopt;
  if (view.dtype == DType::Float64 && view.contiguous()) return denseToDoubles<double>(view.data, *count);
  if (view.dtype == DType::Float32 && view.contiguous()) return denseToDoubles<float>(view.data, *count);
  std::vector<double> out;
  out.reserve(static_cast<size_t>(*count));
  eachElement(view, *count, [&](const std::byte* at) {
    out.push_back(read(at));
    return true;
  });
  return out;
}

bool isZero(const TensorView& view, int64_t most) {
  const auto read = reader(view.dtype);
  const auto count = elementCount(view.shape);
  if (read == nullptr || !count || *count > most || hasShapeOnly(view, *count)) return false;
  return eachElement(view, *count, [&](const std::byte* at) { return read(at) == 0.0; });
}

float halfToFloat(uint16_t bits) { return inlined::halfToFloat(bits); }
float bfloat16ToFloat(uint16_t bits) { return inlined::bfloat16ToFloat(bits); }
uint16_t floatToHalf(float value) { return inlined::floatToHalf(value); }
uint16_t floatToBfloat16(float value) { return inlined::floatToBfloat16(value); }

}  // namespace normlens::graph
