#include "core/formats/onnx/tensors/float_cast.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "core/base/parallel.h"
#include "core/formats/onnx/tensors/tensor_data.h"

namespace normlens::formats::onnx {
namespace {

using graph::DType;
using graph::TensorView;

constexpr size_t kAlignment = 64;
constexpr int64_t kElementsPerPiece = int64_t{1} << 18;

struct Free {
  void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{kAlignment}); }
};

template <class T>
T bitsAt(const std::byte* data, int64_t index) {
  T value;
  std::memcpy(&value, data + static_cast<size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

double load(const std::byte* data, DType dtype, int64_t index) {
  switch (dtype) {
    case DType::Float64:
      return bitsAt<double>(data, index);
    case DType::Float16:
      return static_cast<double>(graph::halfToFloat(bitsAt<uint16_t>(data, index)));
    case DType::BFloat16:
      return static_cast<double>(graph::bfloat16ToFloat(bitsAt<uint16_t>(data, index)));
    default:
      return static_cast<double>(bitsAt<float>(data, index));
  }
}

template <class T>
void put(std::byte* data, int64_t index, T value) {
  std::memcpy(data + static_cast<size_t>(index) * sizeof(T), &value, sizeof(T));
}

// A finite number beyond the range of a narrow type becomes its largest, not infinite.
double within(double value, double largest) {
  return std::isfinite(value) ? std::clamp(value, -largest, largest) : value;
}

constexpr double kLargestHalf = 65504, kLargestBfloat16 = 0x1.FEp127;

void store(std::byte* data, DType dtype, int64_t index, double value) {
  switch (dtype) {
    case DType::Float64:
      return put(data, index, value);
    case DType::Float16:
      return put(data, index, graph::floatToHalf(static_cast<float>(within(value, kLargestHalf))));
    case DType::BFloat16:
      return put(data, index, graph::floatToBfloat16(static_cast<float>(within(value, kLargestBfloat16))));
    default:
      return put(data, index, static_cast<float>(within(value, std::numeric_limits<float>::max())));
  }
}

}  // namespace

FreshTensor freshTensor(DType dtype, const graph::Shape& shape) {
  const size_t bytes = static_cast<size_t>(graph::elementCount(shape).value_or(0)) * graph::dtypeBytes(dtype);
  auto* memory = static_cast<std::byte*>(::operator new[](std::max(bytes, kAlignment), std::align_val_t{kAlignment}));
  FreshTensor fresh;
  fresh.bytes = memory;
  fresh.view.data = memory;
  fresh.view.dtype = dtype;
  fresh.view.shape = shape;
  fresh.view.strides = denseStrides(shape);
  fresh.view.owner = std::shared_ptr<std::byte>(memory, Free());
  return fresh;
}

TensorView castFloats(const TensorView& view, DType to, const ChangeElement& change) {
  FreshTensor fresh = freshTensor(to, view.shape);
  const int64_t count = graph::elementCount(view.shape).value_or(0);
  const int threads = hardwareThreads();
  parallelFor(threads, (count + kElementsPerPiece - 1) / kElementsPerPiece, [&](int64_t piece) {
    const int64_t end = std::min(count, (piece + 1) * kElementsPerPiece);
    for (int64_t i = piece * kElementsPerPiece; i < end; ++i) {
      const double value = load(view.data, view.dtype, i);
      store(fresh.bytes, to, i, change ? change(value, i) : value);
    }
  });
  return fresh.view;
}

TensorView copyOf(const TensorView& view) {
  FreshTensor fresh = freshTensor(view.dtype, view.shape);
  const auto bytes = static_cast<size_t>(graph::byteCount(view));
  if (bytes > 0) std::memcpy(fresh.bytes, view.data, bytes);
  return fresh.view;
}

TensorView denseView(const TensorView& view) {
  if (view.contiguous()) return view;
  const size_t width = graph::dtypeBytes(view.dtype);
  FreshTensor fresh = freshTensor(view.dtype, view.shape);
  const int64_t count = graph::elementCount(view.shape).value_or(0);
  std::vector<int64_t> index(view.shape.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < index.size(); ++axis) offset += index[axis] * view.strides[axis];
    std::memcpy(fresh.bytes + static_cast<size_t>(i) * width, view.data + offset * static_cast<int64_t>(width), width);
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < view.shape[axis]) break;
      index[axis] = 0;
    }
  }
  return fresh.view;
}

}  // namespace normlens::formats::onnx
