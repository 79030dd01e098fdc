// Weights in every layout and type, and what the tests of their arithmetic ask of the results.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "core/fold/edited_weight.h"

namespace normlens::fold {

using graph::DType;
using graph::Shape;
using graph::TensorView;

struct Tensor {
  TensorView view;
  std::vector<double> numbers;  // row-major
};

inline void writeElement(std::byte* at, DType dtype, double value) {
  const auto put = [&](auto x) { std::memcpy(at, &x, sizeof(x)); };
  switch (dtype) {
    case DType::Float64:
      put(value);
      break;
    case DType::Float32:
      put(static_cast<float>(value));
      break;
    case DType::Float16:
      put(graph::floatToHalf(static_cast<float>(value)));
      break;
    default:
      put(graph::floatToBfloat16(static_cast<float>(value)));
      break;
  }
}

// Random numbers at these strides, in memory of just the size they need; half of them at an odd address, as tensors in
// files may be.
inline Tensor makeTensor(const Shape& shape, const std::vector<int64_t>& strides, DType dtype,
                         std::mt19937_64& random) {
  int64_t last = 0;
  for (size_t i = 0; i < shape.size(); ++i) last += (shape[i] - 1) * strides[i];
  const auto bytes = static_cast<size_t>(last + 1) * graph::dtypeBytes(dtype);
  const size_t start = random() % 2;
  std::shared_ptr<std::byte> memory(new std::byte[start + bytes], [](const std::byte* at) { delete[] at; });
  std::normal_distribution<double> normal(0.3, 1.0);
  for (size_t at = 0; at < bytes; at += graph::dtypeBytes(dtype))
    writeElement(memory.get() + start + at, dtype, normal(random));
  Tensor tensor{{memory.get() + start, dtype, shape, strides, memory}, {}};
  tensor.numbers = *graph::toDoubles(tensor.view);
  return tensor;
}

inline TensorView outputView(const TensorView& in, const std::vector<std::byte>& bytes) {
  return {bytes.data(), in.dtype, in.shape, outputStrides(in), nullptr};
}

// Rounded once; `slack`: what the order of a float64 sum may change.
inline void expectClose(const TensorView& got, const std::vector<double>& want, const std::string& what,
                        double slack = 1e-13) {
  const double unit = std::ldexp(1.0, -graph::mantissaBits(got.dtype) - 1);
  const double smallest = got.dtype == DType::Float16 ? 0x1p-25 : 0.0;  // half the spacing of float16 subnormals
  const auto numbers = *graph::toDoubles(got);
  ASSERT_EQ(numbers.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(numbers[i], want[i], std::max(std::fabs(want[i]) * unit, smallest) * 1.001 + 1e-7 * unit + slack)
        << what << " element " << i;
  }
}

inline std::vector<std::byte> bufferFor(const TensorView& in) {
  return std::vector<std::byte>(static_cast<size_t>(*graph::elementCount(in.shape)) * graph::dtypeBytes(in.dtype));
}

enum class Layout { RowMajor, Permuted, Padded };

inline std::vector<int64_t> stridesFor(const Shape& shape, Layout layout, std::mt19937_64& random) {
  std::vector<size_t> order(shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (layout == Layout::Permuted) std::shuffle(order.begin(), order.end(), random);
  std::vector<int64_t> strides(shape.size());
  int64_t step = layout == Layout::Padded ? 2 : 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = step;
    step *= shape[order[i]];
  }
  return strides;
}

// An edited weight in blocks of growing sizes, so that they are cut everywhere.
inline Status fill(const WeightSource& made, std::span<std::byte> out, int threads) {
  const auto blocks = made.edited->open(threads);
  if (!blocks) return tl::unexpected(blocks.error());
  const size_t width = graph::dtypeBytes(made.view.dtype), count = out.size() / width;
  for (size_t first = 0, size = 1; first < count; first += size++) {
    size = std::min(size, count - first);
    if (auto status = (*blocks)(static_cast<int64_t>(first), out.subspan(first * width, size * width)); !status)
      return status;
  }
  return {};
}

}  // namespace normlens::fold
