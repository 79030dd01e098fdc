// Quantizing and back: the scales in double, the integers as the file has them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/formats/onnx/float64/kernel.h"

namespace normlens::formats::onnx::float64 {
namespace {

// Holds the scale of each element: one for all, or one for each index of an axis.
struct Scales {
  int64_t axis = 1;

  explicit Scales(const Attributes& attributes) : axis(attributes.integer("axis", 1)) {
    if (attributes.integer("block_size", 0) != 0) throw std::runtime_error("blocks are not supported in double");
  }

  [[nodiscard]] std::function<int64_t(int64_t)> indexIn(const Shape& scale, const Shape& x) const {
    if (product(scale) == 1) return [](int64_t) { return int64_t{0}; };
    const auto along = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.size()) : axis);
    if (along >= x.size() || product(scale) != x[along]) throw std::runtime_error("scales that do not fit the axis");
    return [size = x[along], behind = product(x, along + 1, x.size())](int64_t i) { return i / behind % size; };
  }
};

template <class T>
T quantised(double x, double scale, int64_t zero) {
  const double value = std::nearbyint(x / scale) + static_cast<double>(zero);
  return static_cast<T>(std::clamp<double>(value, std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()));
}

// x, y_scale, y_zero_point?
template <class T>
Kernel makeQuantise(const Attributes& attributes) {
  return [scales = Scales(attributes)](Call& call) {
    const Array x = call.array(0), scale = call.array(1);
    const auto zeros = call.optionalIntegers(2);
    const auto index = scales.indexIn(scale.shape, x.shape);
    T* const y = static_cast<T*>(call.outputBytes(0, x.shape));
    for (int64_t i = 0; i < x.count(); ++i) {
      const int64_t at = index(i);
      y[i] = quantised<T>(x.data[i], scale.data[at], zeros.empty() ? 0 : zeros.at(static_cast<size_t>(at)));
    }
  };
}

// x, x_scale, x_zero_point?
Kernel makeDequantise(const Attributes& attributes) {
  return [scales = Scales(attributes)](Call& call) {
    const auto x = call.integers(0);
    const Shape shape = call.shapeOf(0);
    const Array scale = call.array(1);
    const auto zeros = call.optionalIntegers(2);
    const auto index = scales.indexIn(scale.shape, shape);
    double* const y = call.output(0, shape);
    for (size_t i = 0; i < x.size(); ++i) {
      const int64_t at = index(static_cast<int64_t>(i));
      y[i] = static_cast<double>(x[i] - (zeros.empty() ? 0 : zeros.at(static_cast<size_t>(at)))) * scale.data[at];
    }
  };
}

// x -> y uint8, y_scale, y_zero_point: the range of x with zero in it.
Kernel makeDynamic(const Attributes&) {
  return [](Call& call) {
    const Array x = call.array(0);
    double low = 0, high = 0;
    for (int64_t i = 0; i < x.count(); ++i) {
      low = std::min(low, x.data[i]);
      high = std::max(high, x.data[i]);
    }
    const double scale = high == low ? 1 : (high - low) / 255;
    const auto zero = static_cast<uint8_t>(std::clamp(std::nearbyint(-low / scale), 0.0, 255.0));
    auto* const y = static_cast<uint8_t*>(call.outputBytes(0, x.shape));
    for (int64_t i = 0; i < x.count(); ++i) y[i] = quantised<uint8_t>(x.data[i], scale, zero);
    call.output(1, {})[0] = scale;
    *static_cast<uint8_t*>(call.outputBytes(2, {})) = zero;
  };
}

const KernelRow kQuantisingKernels[] = {
    {"QuantizeUInt8", "ddA", "u", makeQuantise<uint8_t>, "QuantizeLinear com.microsoft.QuantizeLinear"},
    {"QuantizeInt8", "ddA", "b", makeQuantise<int8_t>, ""},
    {"DequantizeLinear", "adA", "d", makeDequantise, "DequantizeLinear com.microsoft.DequantizeLinear", 1},
    {"DynamicQuantizeLinear", "d", "udu", makeDynamic},
};

}  // namespace

std::span<const KernelRow> quantisingKernels() { return kQuantisingKernels; }

}  // namespace normlens::formats::onnx::float64
