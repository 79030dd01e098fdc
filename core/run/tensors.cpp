#include "core/run/tensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace normlens::run {
namespace {

using graph::DType;

template <class T>
void putInteger(std::byte* out, double value) {
  // Half-open above: the largest double below 2^63 is not the largest int64.
  const auto low = static_cast<double>(std::numeric_limits<T>::min());
  const double beyond = std::ldexp(1.0, std::numeric_limits<T>::digits);
  T stored = 0;
  if (value >= beyond) {
    stored = std::numeric_limits<T>::max();
  } else if (value <= low) {
    stored = std::numeric_limits<T>::min();
  } else if (!std::isnan(value)) {
    stored = static_cast<T>(value);
  }
  std::memcpy(out, &stored, sizeof stored);
}

template <class T>
void putRaw(std::byte* out, T stored) {
  std::memcpy(out, &stored, sizeof stored);
}

void put(DType dtype, std::byte* out, double value) {
  switch (dtype) {
    case DType::Bool:
      return putRaw(out, static_cast<uint8_t>(value != 0));
    case DType::UInt8:
      return putInteger<uint8_t>(out, value);
    case DType::Int8:
      return putInteger<int8_t>(out, value);
    case DType::Int16:
      return putInteger<int16_t>(out, value);
    case DType::Int32:
      return putInteger<int32_t>(out, value);
    case DType::Int64:
      return putInteger<int64_t>(out, value);
    case DType::Float16:
      return putRaw(out, graph::floatToHalf(static_cast<float>(value)));
    case DType::BFloat16:
      return putRaw(out, graph::floatToBfloat16(static_cast<float>(value)));
    case DType::Float32:
      return putRaw(out, static_cast<float>(value));
    case DType::Float64:
      return putRaw(out, value);
    default:
      return;
  }
}

}  // namespace

std::vector<int64_t> rowMajorStrides(const graph::Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<int64_t>(shape[i], 1);
  return strides;
}

std::vector<int64_t> indexOf(int64_t place, const graph::Shape& shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    const int64_t size = std::max<int64_t>(1, shape[axis]);
    index[axis] = place % size;
    place /= size;
  }
  return index;
}

std::vector<int64_t> indexOf(int64_t place, const graph::Shape& shape, DType dtype) {
  const bool isComplex = dtype == DType::Complex64 || dtype == DType::Complex128;
  return indexOf(isComplex ? place / 2 : place, shape);
}

graph::TensorView ownedTensor(DType dtype, graph::Shape shape, std::vector<std::byte> bytes) {
  const auto memory = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  graph::TensorView view;
  view.data = memory->data();
  view.dtype = dtype;
  view.strides = rowMajorStrides(shape);
  view.shape = std::move(shape);
  view.owner = memory;
  return view;
}

graph::TensorView fromDoubles(DType dtype, graph::Shape shape, std::span<const double> values) {
  const size_t width = graph::dtypeBytes(dtype);
  std::vector<std::byte> bytes(values.size() * width);
  for (size_t i = 0; i < values.size(); ++i) put(dtype, bytes.data() + i * width, values[i]);
  return ownedTensor(dtype, std::move(shape), std::move(bytes));
}

Result<std::vector<std::byte>> denseBytes(const graph::TensorView& view) {
  const size_t width = graph::dtypeBytes(view.dtype);
  const auto count = graph::elementCount(view.shape);
  if (width == 0 || !count) {
    return fail(ErrorCode::Unsupported,
                "a tensor of type " + std::string(graph::dtypeName(view.dtype)) + " has no plain elements");
  }
  std::vector<std::byte> bytes(static_cast<size_t>(*count) * width);
  if (bytes.empty()) return bytes;
  if (view.contiguous()) {
    std::memcpy(bytes.data(), view.data, bytes.size());
    return bytes;
  }
  std::vector<int64_t> index(view.shape.size(), 0);
  for (size_t element = 0; element < static_cast<size_t>(*count); ++element) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < index.size(); ++axis) offset += index[axis] * view.strides[axis];
    std::memcpy(bytes.data() + element * width, view.data + offset * static_cast<int64_t>(width), width);
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < view.shape[axis]) break;
      index[axis] = 0;
    }
  }
  return bytes;
}

graph::TensorView castFloat(const graph::TensorView& view, DType dtype) {
  if (!graph::isFloat(view.dtype) || !graph::isFloat(dtype) || view.dtype == dtype) return view;
  const auto values = graph::toDoubles(view);
  return values ? fromDoubles(dtype, view.shape, *values) : view;
}

std::string describe(DType dtype, const graph::Shape& shape) {
  std::string text = std::string(graph::dtypeName(dtype)) + "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

double machineEpsilon(DType dtype) { return graph::isFloat(dtype) ? std::ldexp(1.0, -graph::mantissaBits(dtype)) : 0; }

}  // namespace normlens::run
