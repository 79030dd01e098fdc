#include "core/graph/numbers.h"

#include <cstring>
#include <memory>

namespace normlens::graph {
namespace {

template <class T>
void put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

void putElement(std::byte* at, DType dtype, double value) {
  switch (dtype) {
    case DType::Bool:
    case DType::UInt8:
      return put(at, static_cast<uint8_t>(value));
    case DType::Int8:
      return put(at, static_cast<int8_t>(value));
    case DType::Int16:
      return put(at, static_cast<int16_t>(value));
    case DType::Int32:
      return put(at, static_cast<int32_t>(value));
    case DType::Int64:
      return put(at, static_cast<int64_t>(value));
    case DType::Float16:
      return put(at, floatToHalf(static_cast<float>(value)));
    case DType::BFloat16:
      return put(at, floatToBfloat16(static_cast<float>(value)));
    case DType::Float64:
      return put(at, value);
    default:
      return put(at, static_cast<float>(value));
  }
}

}  // namespace

TensorView tensorFromDoubles(const Shape& shape, const std::vector<double>& numbers, DType dtype) {
  const size_t bytes = dtypeBytes(dtype);
  const auto storage = std::make_shared<std::vector<std::byte>>(numbers.size() * bytes + 1);
  for (size_t i = 0; i < numbers.size(); ++i) putElement(storage->data() + i * bytes, dtype, numbers[i]);
  TensorView view{storage->data(), dtype, shape, std::vector<int64_t>(shape.size()), storage};
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    view.strides[i] = stride;
    stride *= shape[i];
  }
  return view;
}

}  // namespace normlens::graph
