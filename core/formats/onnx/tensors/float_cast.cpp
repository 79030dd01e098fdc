#include "core/formats/onnx/tensors/float_cast.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "core/base/map_ahead.h"
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

// The most frequent cast, without a question for each element: models are copied to float64 whole.
void widen(const std::byte* from, std::byte* to, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) put(to, i, static_cast<double>(bitsAt<float>(from, i)));
}

// Some rows along the last axis, side by side: of a transposed matrix, they are neighbors in memory.
constexpr int64_t kRowsPerPiece = 32;

template <class T>
void copyRows(const TensorView& view, int64_t first, int64_t last, std::byte* out) {
  const int64_t length = view.shape.empty() ? 1 : view.shape.back(),
                step = view.strides.empty() ? 1 : view.strides.back();
  std::array<int64_t, kRowsPerPiece> starts{};
  for (int64_t row = first; row < last; ++row) {
    int64_t rest = row, start = 0;
    for (size_t axis = view.shape.size(); axis-- > 1;) {
      start += rest % view.shape[axis - 1] * view.strides[axis - 1];
      rest /= view.shape[axis - 1];
    }
    starts[static_cast<size_t>(row - first)] = start;
  }
  for (int64_t i = 0; i < length; ++i) {
    for (int64_t row = first; row < last; ++row)
      put(out, row * length + i, bitsAt<T>(view.data, starts[static_cast<size_t>(row - first)] + i * step));
  }
}

constexpr double kLargestBfloat16 = 0x1.FEp127;

void store(std::byte* data, DType dtype, int64_t index, double value) {
  switch (dtype) {
    case DType::Float64:
      return put(data, index, value);
    case DType::Float16:
      return put(data, index, graph::floatToHalf(static_cast<float>(within(value, graph::kLargestFloat16))));
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
  wantHugePages(memory, bytes);
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
  const bool widens = !change && view.dtype == DType::Float32 && to == DType::Float64;
  parallelFor(hardwareThreads(), (count + kElementsPerPiece - 1) / kElementsPerPiece, [&](int64_t piece) {
    const int64_t begin = piece * kElementsPerPiece, end = std::min(count, begin + kElementsPerPiece);
    if (widens) return widen(view.data, fresh.bytes, begin, end);
    for (int64_t i = begin; i < end; ++i) {
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
  FreshTensor fresh = freshTensor(view.dtype, view.shape);
  const size_t width = graph::dtypeBytes(view.dtype);
  const int64_t length = view.shape.empty() ? 1 : view.shape.back();
  const int64_t rows = length == 0 ? 0 : graph::elementCount(view.shape).value_or(0) / length;
  parallelFor(hardwareThreads(), (rows + kRowsPerPiece - 1) / kRowsPerPiece, [&](int64_t piece) {
    const int64_t first = piece * kRowsPerPiece, last = std::min(rows, first + kRowsPerPiece);
    width == 16  ? copyRows<std::array<uint64_t, 2>>(view, first, last, fresh.bytes)
    : width == 8 ? copyRows<uint64_t>(view, first, last, fresh.bytes)
    : width == 4 ? copyRows<uint32_t>(view, first, last, fresh.bytes)
    : width == 2 ? copyRows<uint16_t>(view, first, last, fresh.bytes)
                 : copyRows<std::byte>(view, first, last, fresh.bytes);
  });
  return fresh.view;
}

}  // namespace normlens::formats::onnx
