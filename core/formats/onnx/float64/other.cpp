// Operators that fit nowhere else; quantizing and back, the scales in double, the integers as the file has them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/formats/onnx/float64/kernel.h"

namespace normlens::formats::onnx::float64 {
namespace {

// The mean of any number of tensors that broadcast to each other.
Kernel makeMean(const Attributes&) {
  return [](Call& call) {
    std::vector<Array> arrays;
    Shape shape;
    for (size_t i = 0; call.has(i); ++i) {
      arrays.push_back(call.array(i));
      shape = broadcast(shape, arrays.back().shape);
    }
    double* const y = call.output(0, shape);
    std::fill(y, y + product(shape), 0.0);
    for (const Array& array : arrays) {
      forEachPair(shape, array.shape, {}, [&](int64_t i, int64_t at, int64_t) { y[i] += array.data[at]; });
    }
    for (int64_t i = 0; i < product(shape); ++i) y[i] /= static_cast<double>(arrays.size());
  };
}

// Bounds as attributes (opset 6) or inputs (opset 11).
Kernel makeClip(const Attributes& attributes) {
  const double low = attributes.number("min", -std::numeric_limits<double>::infinity());
  const double high = attributes.number("max", std::numeric_limits<double>::infinity());
  return [=](Call& call) {
    const Array x = call.array(0);
    const double from = call.has(1) ? call.array(1).data[0] : low, to = call.has(2) ? call.array(2).data[0] : high;
    double* const y = call.output(0, x.shape);
    for (int64_t i = 0; i < x.count(); ++i) y[i] = std::min(std::max(x.data[i], from), to);
  };
}

// indices, depth, values [off, on]
Kernel makeOneHot(const Attributes& attributes) {
  return [given = attributes.integer("axis", -1)](Call& call) {
    const auto indices = call.integers(0);
    const int64_t depth = call.integers(1).at(0);
    const Array values = call.array(2);
    Shape shape = call.shapeOf(0);
    const auto axis = static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(shape.size()) + 1 : given);
    const int64_t behind = product(shape, axis, shape.size());
    shape.insert(shape.begin() + static_cast<int64_t>(axis), depth);
    double* const y = call.output(0, shape);
    std::fill(y, y + product(shape), values.data[0]);
    for (size_t i = 0; i < indices.size(); ++i) {
      const int64_t index = indices[i] < 0 ? indices[i] + depth : indices[i];
      if (index < 0 || index >= depth) continue;
      const auto at = static_cast<int64_t>(i);
      y[(at / behind * depth + index) * behind + at % behind] = values.data[1];
    }
  };
}

// activation(alpha A B + beta C)
Kernel makeFusedGemm(const Attributes& attributes) {
  const bool transA = attributes.integer("transA", 0) != 0, transB = attributes.integer("transB", 0) != 0;
  const double alpha = attributes.number("alpha", 1), beta = attributes.number("beta", 1);
  const double none = std::numeric_limits<double>::quiet_NaN();
  const std::string name = attributes.text("activation", "");
  Activation f = [](double x) { return x; };
  if (!name.empty()) {
    f = activation(name, attributes.number("activation_alpha", none), attributes.number("activation_beta", none));
  }
  return [=](Call& call) {
    const Array a = call.array(0), b = call.array(1), c = call.optionalArray(2);
    const int64_t m = a.dim(transA ? 1 : 0), k = a.dim(transA ? 0 : 1), n = b.dim(transB ? 0 : 1);
    const Shape shape{m, n};
    double* const y = call.output(0, shape);
    forEachPair(shape, c.data ? c.shape : Shape{}, {}, [&](int64_t at, int64_t atC, int64_t) {
      const int64_t i = at / n, j = at % n;
      double sum = 0;
      for (int64_t x = 0; x < k; ++x)
        sum += a.data[transA ? x * m + i : i * k + x] * b.data[transB ? j * k + x : x * n + j];
      y[at] = f(alpha * sum + (c.data ? beta * c.data[atC] : 0.0));
    });
  };
}

// ---- quantizing

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

const KernelRow kOtherKernels[] = {
    {"Mean", "dDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDD", "d", makeMean},
    {"Clip", "dDD", "d", makeClip, nullptr, 0, 12},
    {"OneHot", "aad", "d", makeOneHot, nullptr, 2},
    {"QuantizeUInt8", "ddA", "u", makeQuantise<uint8_t>, "QuantizeLinear com.microsoft.QuantizeLinear"},
    {"QuantizeInt8", "ddA", "b", makeQuantise<int8_t>, ""},
    {"DequantizeLinear", "adA", "d", makeDequantise, "DequantizeLinear com.microsoft.DequantizeLinear", 1},
    {"FusedGemm", "ddD", "d", makeFusedGemm, "com.microsoft.FusedGemm"},
};

}  // namespace

std::span<const KernelRow> otherKernels() { return kOtherKernels; }

}  // namespace normlens::formats::onnx::float64
