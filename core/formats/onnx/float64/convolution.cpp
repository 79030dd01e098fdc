// Windows that slide over any number of spatial axes of an image: Conv, FusedConv, ConvTranspose, Col2Im, AveragePool
// and MaxPool.
#include <algorithm>
#include <limits>

#include "core/formats/onnx/float64/kernel.h"

namespace normlens::formats::onnx::float64 {
namespace {

struct WindowAttributes {
  std::string autoPad;
  std::vector<int64_t> kernel, strides, dilations, pads;
  bool ceil = false;

  explicit WindowAttributes(const Attributes& attributes)
      : autoPad(attributes.text("auto_pad", "NOTSET")),
        kernel(attributes.integers("kernel_shape")),
        strides(attributes.integers("strides")),
        dilations(attributes.integers("dilations")),
        pads(attributes.integers("pads")),
        ceil(attributes.integer("ceil_mode", 0) != 0) {}
};

// One spatial axis: `out` places of the window over `in` elements with `begin` and `end` in the padding around them.
struct Axis {
  int64_t in = 0, out = 0, kernel = 1, stride = 1, dilation = 1, begin = 0, end = 0;

  [[nodiscard]] int64_t reach() const { return (kernel - 1) * dilation + 1; }
};
using Window = std::vector<Axis>;

// The axes as the attributes give them, without any places yet.
Window axesOf(const WindowAttributes& given, const Shape& kernel, const Shape& spatial) {
  const size_t count = spatial.size();
  if (kernel.size() != count) throw std::runtime_error("a window of another rank than the input");
  const auto at = [](const std::vector<int64_t>& list, size_t i, int64_t otherwise) {
    return list.empty() ? otherwise : list.at(i);
  };
  Window window;
  for (size_t i = 0; i < count; ++i) {
    const bool padded = given.autoPad == "NOTSET";
    window.push_back({spatial[i], 0, kernel[i], at(given.strides, i, 1), at(given.dilations, i, 1),
                      padded ? at(given.pads, i, 0) : 0, padded ? at(given.pads, i + count, 0) : 0});
    if (window[i].stride < 1) throw std::runtime_error("a window that does not move");
  }
  return window;
}

// The places by auto_pad, pads and ceil_mode.
Window windowOf(const WindowAttributes& given, const Shape& kernel, const Shape& spatial) {
  Window window = axesOf(given, kernel, spatial);
  for (Axis& axis : window) {
    if (given.autoPad.starts_with("SAME")) {
      axis.out = (axis.in + axis.stride - 1) / axis.stride;
      const int64_t total = std::max<int64_t>(0, (axis.out - 1) * axis.stride + axis.reach() - axis.in);
      axis.begin = given.autoPad == "SAME_LOWER" ? (total + 1) / 2 : total / 2;
      axis.end = total - axis.begin;
      continue;
    }
    const int64_t room = axis.in + axis.begin + axis.end - axis.reach();
    if (room < 0) continue;
    axis.out = (room + (given.ceil ? axis.stride - 1 : 0)) / axis.stride + 1;
    // A window that would start in the padding behind the input does not count.
    if (given.ceil && (axis.out - 1) * axis.stride >= axis.in + axis.begin) --axis.out;
  }
  return window;
}

// Multiplies the sizes of all axes: countOf(window, &Axis::out) is the number of places.
int64_t countOf(const Window& window, int64_t Axis::*size) {
  int64_t count = 1;
  for (const Axis& axis : window) count *= axis.*size;
  return count;
}

// Returns which element of the image an element of the window meets at a place, all in row-major order; -1: it is in
// the padding.
int64_t meet(const Window& window, int64_t place, int64_t element) {
  int64_t offset = 0, scale = 1;
  for (size_t i = window.size(); i-- > 0;) {
    const Axis& axis = window[i];
    const int64_t at = place % axis.out * axis.stride - axis.begin + element % axis.kernel * axis.dilation;
    if (at < 0 || at >= axis.in) return -1;
    offset += at * scale;
    scale *= axis.in;
    place /= axis.out;
    element /= axis.kernel;
  }
  return offset;
}

// The axes behind batch and channels.
Shape spatialOf(const Array& x) {
  if (x.rank() < 2) throw std::runtime_error("an input without channels");
  return {x.shape.begin() + 2, x.shape.end()};
}

// [first][second] and the sizes of all axes.
Shape shapeWith(int64_t first, int64_t second, const Window& window, int64_t Axis::*size) {
  Shape shape{first, second};
  for (const Axis& axis : window) shape.push_back(axis.*size);
  return shape;
}

// ---- convolutions

// columns[c][k][place]: the input elements that element k of the window meets in each channel of a group.
void gatherColumns(const double* x, int64_t channels, const Window& window, double* columns) {
  const int64_t area = countOf(window, &Axis::in), taps = countOf(window, &Axis::kernel);
  const int64_t places = countOf(window, &Axis::out);
  for (int64_t k = 0; k < taps; ++k) {
    for (int64_t place = 0; place < places; ++place) {
      const int64_t offset = meet(window, place, k);
      for (int64_t c = 0; c < channels; ++c) {
        columns[(c * taps + k) * places + place] = offset >= 0 ? x[c * area + offset] : 0.0;
      }
    }
  }
}

// X, W, B?, Z? -> activation(conv + Z); Conv has neither.
Kernel makeConv(const Attributes& attributes) {
  const std::string name = attributes.text("activation", "");
  auto parameters = attributes.numbers("activation_params");
  parameters.resize(2, std::numeric_limits<double>::quiet_NaN());
  Activation f = name.empty() ? [](double x) { return x; } : activation(name, parameters[0], parameters[1]);
  return [given = WindowAttributes(attributes), groups = attributes.integer("group", 1), f = std::move(f)](Call& call) {
    const Array x = call.array(0), w = call.array(1), bias = call.optionalArray(2), z = call.optionalArray(3);
    if (x.rank() != w.rank() || x.rank() < 3 || groups < 1 || w.dim(1) * groups != x.dim(1) || w.dim(0) % groups != 0) {
      throw std::runtime_error("a kernel that does not fit the input");
    }
    const Window window = windowOf(given, spatialOf(w), spatialOf(x));
    double* const y = call.output(0, shapeWith(x.dim(0), w.dim(0), window, &Axis::out));
    const int64_t places = countOf(window, &Axis::out), area = countOf(window, &Axis::in);
    const int64_t in = w.dim(1), out = w.dim(0) / groups, depth = in * countOf(window, &Axis::kernel);
    call.parallel(x.dim(0) * groups, [&](int64_t unit) {
      std::vector<double> columns(static_cast<size_t>(depth * places));
      gatherColumns(x.data + unit * in * area, in, window, columns.data());
      const int64_t group = unit % groups, begin = unit * out * places, count = out * places;
      for (int64_t i = 0; i < count; ++i) y[begin + i] = bias.data ? bias.data[group * out + i / places] : 0.0;
      multiply(w.data + group * out * depth, depth, columns.data(), places, y + begin, places, out, depth, places,
               true);
      for (int64_t i = begin; i < begin + count; ++i) y[i] = f(z.data ? y[i] + z.data[i] : y[i]);
    });
  };
}

// The output of a transposed convolution is the image that its window slides over, one place for each input element.
// See the operator's definition of output_shape and auto_pad.
Window transposedWindow(const WindowAttributes& given, const std::vector<int64_t>& padding,
                        const std::vector<int64_t>& shape, const Shape& kernel, const Shape& spatial) {
  Window window = axesOf(given, kernel, spatial);
  const size_t skipped = shape.size() > spatial.size() ? shape.size() - spatial.size() : 0;
  for (size_t i = 0; i < window.size(); ++i) {
    Axis& axis = window[i];
    axis.out = spatial[i];
    const int64_t full = axis.stride * (spatial[i] - 1) + (padding.empty() ? 0 : padding.at(i)) + axis.reach();
    if (shape.empty() && !given.autoPad.starts_with("SAME")) {
      axis.in = full - axis.begin - axis.end;
      continue;
    }
    axis.in = shape.empty() ? spatial[i] * axis.stride : shape.at(i + skipped);
    const int64_t total = std::max<int64_t>(0, full - axis.in);
    axis.begin = given.autoPad == "SAME_UPPER" ? total / 2 : total - total / 2;
  }
  return window;
}

// Adds what the input elements of a group contribute to its part of the output.
void scatter(const Array& x, const Array& w, const Window& window, int64_t unit, int64_t groups, double* y) {
  const int64_t in = x.dim(1) / groups, out = w.dim(1), group = unit % groups;
  const int64_t area = countOf(window, &Axis::in), taps = countOf(window, &Axis::kernel);
  const int64_t places = countOf(window, &Axis::out);
  for (int64_t place = 0; place < places; ++place) {
    for (int64_t k = 0; k < taps; ++k) {
      const int64_t offset = meet(window, place, k);
      if (offset < 0) continue;
      for (int64_t c = 0; c < in; ++c) {
        const double value = x.data[(unit * in + c) * places + place];
        const double* const weights = w.data + (group * in + c) * out * taps + k;
        for (int64_t o = 0; o < out; ++o) y[(unit * out + o) * area + offset] += value * weights[o * taps];
      }
    }
  }
}

Kernel makeConvTranspose(const Attributes& attributes) {
  return [given = WindowAttributes(attributes), padding = attributes.integers("output_padding"),
          wanted = attributes.integers("output_shape"), groups = attributes.integer("group", 1)](Call& call) {
    const Array x = call.array(0), w = call.array(1), bias = call.optionalArray(2);
    if (x.rank() != w.rank() || x.rank() < 3 || w.dim(0) != x.dim(1) || groups < 1 || x.dim(1) % groups != 0) {
      throw std::runtime_error("a kernel that does not fit the input");
    }
    const Window window = transposedWindow(given, padding, wanted, spatialOf(w), spatialOf(x));
    const Shape shape = shapeWith(x.dim(0), w.dim(1) * groups, window, &Axis::in);
    double* const y = call.output(0, shape);
    const int64_t area = countOf(window, &Axis::in);
    for (int64_t i = 0; i < product(shape); ++i) y[i] = bias.data ? bias.data[i / area % shape[1]] : 0.0;
    call.parallel(x.dim(0) * groups, [&](int64_t unit) { scatter(x, w, window, unit, groups, y); });
  };
}

// Columns of blocks back into an image; overlapping elements are summed.
Kernel makeCol2Im(const Attributes& attributes) {
  return [given = WindowAttributes(attributes)](Call& call) {
    const Array x = call.array(0);
    const Window window = windowOf(given, call.integers(2), call.integers(1));
    const int64_t taps = countOf(window, &Axis::kernel), places = countOf(window, &Axis::out);
    const int64_t area = countOf(window, &Axis::in);
    if (taps < 1 || x.dim(1) % taps != 0 || places != x.dim(2))
      throw std::runtime_error("columns that do not fit the image");
    const Shape shape = shapeWith(x.dim(0), x.dim(1) / taps, window, &Axis::in);
    double* const y = call.output(0, shape);
    std::fill(y, y + product(shape), 0.0);
    for (int64_t i = 0; i < x.count(); ++i) {
      const int64_t place = i % places, row = i / places, offset = meet(window, place, row % taps);
      if (offset >= 0) y[row / taps * area + offset] += x.data[i];
    }
  };
}

// ---- pools; without a kernel_shape they are the global ones, whose window is the whole image

// Elements of the window at a place, those in the padding counted as far as the padded input reaches.
int64_t paddedCount(const Window& window, int64_t place) {
  int64_t count = 1;
  for (size_t i = window.size(); i-- > 0;) {
    const Axis& axis = window[i];
    const int64_t room = axis.in + axis.end - (place % axis.out * axis.stride - axis.begin);
    count *= std::min(axis.kernel, (room + axis.dilation - 1) / axis.dilation);
    place /= axis.out;
  }
  return count;
}

// Reduces the elements that the window meets in one channel; `padded`: their count with those in the padding.
using Reduce = double (*)(const double* channel, const std::vector<int64_t>& offsets, int64_t padded);

Kernel makePool(const Attributes& attributes, Reduce reduce) {
  const bool countPads = attributes.integer("count_include_pad", 0) != 0;
  return [given = WindowAttributes(attributes), countPads, reduce](Call& call) {
    const Array x = call.array(0);
    const Shape spatial = spatialOf(x);
    const Window window = windowOf(given, given.kernel.empty() ? spatial : given.kernel, spatial);
    double* const y = call.output(0, shapeWith(x.dim(0), x.dim(1), window, &Axis::out));
    const int64_t area = countOf(window, &Axis::in), places = countOf(window, &Axis::out);
    const int64_t taps = countOf(window, &Axis::kernel), channels = x.dim(0) * x.dim(1);
    call.parallel(places, [&](int64_t place) {
      std::vector<int64_t> offsets;
      for (int64_t k = 0; k < taps; ++k) {
        if (const int64_t offset = meet(window, place, k); offset >= 0) offsets.push_back(offset);
      }
      const int64_t count = countPads ? paddedCount(window, place) : static_cast<int64_t>(offsets.size());
      for (int64_t c = 0; c < channels; ++c) y[c * places + place] = reduce(x.data + c * area, offsets, count);
    });
  };
}

Kernel makeAveragePool(const Attributes& attributes) {
  return makePool(attributes, [](const double* channel, const std::vector<int64_t>& offsets, int64_t count) {
    double sum = 0;
    for (const int64_t offset : offsets) sum += channel[offset];
    return sum / static_cast<double>(count);
  });
}

// Without the indices, as it was before opset 8.
Kernel makeMaxPool(const Attributes& attributes) {
  return makePool(attributes, [](const double* channel, const std::vector<int64_t>& offsets, int64_t) {
    double best = -std::numeric_limits<double>::infinity();
    for (const int64_t offset : offsets) best = std::max(best, channel[offset]);
    return best;
  });
}

const KernelRow kWindowKernels[] = {
    {"Conv", "ddDD", "d", makeConv, "Conv com.microsoft.FusedConv"},
    {"ConvTranspose", "ddD", "d", makeConvTranspose},
    {"Col2Im", "daa", "d", makeCol2Im},
    {"AveragePool", "d", "d", makeAveragePool, "AveragePool GlobalAveragePool"},
    {"MaxPool", "d", "d", makeMaxPool, nullptr, 0, 8},
    {"GlobalMaxPool", "d", "d", makeMaxPool},
};

}  // namespace

std::span<const KernelRow> windowKernels() { return kWindowKernels; }

}  // namespace normlens::formats::onnx::float64
