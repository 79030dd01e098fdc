// Operators that fit nowhere else.
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

// The largest or smallest of any number of tensors, before opset 8.
template <bool kLargest>
Kernel makeExtreme(const Attributes&) {
  return [](Call& call) {
    Shape shape = call.shapeOf(0);
    for (size_t i = 1; call.has(i); ++i) shape = broadcast(shape, call.shapeOf(i));
    double* const y = call.output(0, shape);
    for (size_t input = 0; call.has(input); ++input) {
      const Array array = call.array(input);
      forEachPair(shape, array.shape, {}, [&](int64_t i, int64_t at, int64_t) {
        const double x = array.data[at];
        y[i] = input == 0 ? x : kLargest ? std::max(y[i], x) : std::min(y[i], x);
      });
    }
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

// 1 at the first maximum along an axis, 0 elsewhere. Before opset 13 all axes from `axis` on are one.
Kernel makeHardmax(const Attributes& attributes) {
  const bool flattened = attributes.integer(kOpset, 13) < 13;
  const int64_t given = attributes.integer("axis", flattened ? 1 : -1);
  return [=](Call& call) {
    const Array x = call.array(0);
    const auto axis = static_cast<size_t>(given < 0 ? given + x.rank() : given);
    const int64_t before = product(x.shape, 0, axis);
    const int64_t behind = flattened ? 1 : product(x.shape, axis + 1, x.shape.size());
    const int64_t width = before * behind == 0 ? 0 : x.count() / (before * behind);
    double* const y = call.output(0, x.shape);
    std::fill(y, y + x.count(), 0.0);
    for (int64_t b = 0; b < before; ++b) {
      for (int64_t c = 0; c < behind && width > 0; ++c) {
        int64_t best = b * width * behind + c;
        for (int64_t i = 1; i < width; ++i) {
          const int64_t at = (b * width + i) * behind + c;
          if (x.data[at] > x.data[best]) best = at;
        }
        y[best] = 1;
      }
    }
  };
}

Kernel makeNonZero(const Attributes&) {
  return [](Call& call) {
    const Array x = call.array(0);
    std::vector<int64_t> found;
    for (int64_t i = 0; i < x.count(); ++i) {
      if (x.data[i] != 0) found.push_back(i);
    }
    const int64_t rank = std::max<int64_t>(x.rank(), 1), count = static_cast<int64_t>(found.size());
    int64_t* const y = call.output64(0, {rank, count});
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = found[static_cast<size_t>(i)];
      for (int64_t axis = rank; axis-- > 0;) {
        const int64_t size = x.rank() == 0 ? 1 : x.dim(axis);
        y[axis * count + i] = rest % size;
        rest /= size;
      }
    }
  };
}

std::vector<int64_t> wholeNumbers(Call& call, size_t input) {
  if (!call.isFloat(input)) return call.integers(input);
  const Array array = call.array(input);
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < array.count(); ++i) numbers.push_back(static_cast<int64_t>(array.data[i]));
  return numbers;
}

// indices, depth, values [off, on]
Kernel makeOneHot(const Attributes& attributes) {
  return [given = attributes.integer("axis", -1)](Call& call) {
    const auto indices = wholeNumbers(call, 0);
    const auto depths = wholeNumbers(call, 1);
    const int64_t depth = depths.at(0);
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
    const Array a = call.array(0), b = call.array(1), c = call.has(2) ? call.array(2) : Array{};
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

double determinant(std::vector<double> a, int64_t n) {
  double product = 1;
  const auto at = [&](int64_t i, int64_t j) -> double& { return a[static_cast<size_t>(i * n + j)]; };
  for (int64_t column = 0; column < n; ++column) {
    int64_t pivot = column;
    for (int64_t i = column + 1; i < n; ++i) {
      if (std::abs(at(i, column)) > std::abs(at(pivot, column))) pivot = i;
    }
    if (at(pivot, column) == 0) return 0;
    if (pivot != column) product = -product;
    for (int64_t j = 0; j < n && pivot != column; ++j) std::swap(at(pivot, j), at(column, j));
    product *= at(column, column);
    for (int64_t i = column + 1; i < n; ++i) {
      const double factor = at(i, column) / at(column, column);
      for (int64_t j = column; j < n; ++j) at(i, j) -= factor * at(column, j);
    }
  }
  return product;
}

Kernel makeDet(const Attributes&) {
  return [](Call& call) {
    const Array x = call.array(0);
    const int64_t n = x.dim(-1);
    if (n != x.dim(-2)) throw std::runtime_error("a matrix that is not square");
    const Shape shape(x.shape.begin(), x.shape.end() - 2);
    double* const y = call.output(0, shape);
    for (int64_t i = 0; i < product(shape); ++i) {
      y[i] = determinant({x.data + i * n * n, x.data + (i + 1) * n * n}, n);
    }
  };
}

// Columns of blocks back into an image; overlapping elements are summed.
Kernel makeCol2Im(const Attributes& attributes) {
  return [dilations = attributes.integers("dilations"), pads = attributes.integers("pads"),
          strides = attributes.integers("strides")](Call& call) {
    const Array x = call.array(0);
    const Shape image = call.integers(1), block = call.integers(2);
    const size_t axes = image.size();
    const auto setting = [&](const std::vector<int64_t>& list, size_t i, int64_t otherwise) {
      return list.empty() ? otherwise : list.at(i);
    };
    Shape places;
    for (size_t i = 0; i < axes; ++i) {
      const int64_t reach = (block.at(i) - 1) * setting(dilations, i, 1) + 1;
      const int64_t room = image[i] + setting(pads, i, 0) + setting(pads, i + axes, 0) - reach;
      places.push_back(room / setting(strides, i, 1) + 1);
    }
    const int64_t taps = product(block), positions = product(places), channels = x.dim(1) / taps, area = product(image);
    if (positions != x.dim(2)) throw std::runtime_error("columns that do not fit the image");
    Shape shape{x.dim(0), channels};
    shape.insert(shape.end(), image.begin(), image.end());
    double* const y = call.output(0, shape);
    std::fill(y, y + product(shape), 0.0);
    for (int64_t unit = 0; unit < x.dim(0) * channels; ++unit) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        for (int64_t position = 0; position < positions; ++position) {
          int64_t offset = 0, scale = 1, restTap = tap, restPlace = position;
          bool inside = true;
          for (size_t i = axes; i-- > 0;) {
            const int64_t to = restPlace % places[i] * setting(strides, i, 1) - setting(pads, i, 0) +
                               restTap % block[i] * setting(dilations, i, 1);
            inside = inside && to >= 0 && to < image[i];
            offset += to * scale;
            scale *= image[i];
            restTap /= block[i];
            restPlace /= places[i];
          }
          if (inside) y[unit * area + offset] += x.data[(unit * taps + tap) * positions + position];
        }
      }
    }
  };
}

const KernelRow kRows[] = {
    {"Mean", "dDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDD", "d", makeMean},
    {"Max", "dDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDD", "d", makeExtreme<true>},
    {"Min", "dDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDD", "d", makeExtreme<false>},
    {"Clip", "dDD", "d", makeClip},
    {"Hardmax", "d", "d", makeHardmax},
    {"NonZero", "d", "l", makeNonZero},
    {"OneHot", "aad", "d", makeOneHot},
    {"FusedGemm", "ddD", "d", makeFusedGemm},
    {"Det", "d", "d", makeDet},
    {"Col2Im", "daa", "d", makeCol2Im},
};

}  // namespace

std::span<const KernelRow> otherKernels() { return kRows; }

}  // namespace normlens::formats::onnx::float64
