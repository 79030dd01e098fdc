// Conv, FusedConv, ConvTranspose and Col2Im over any number of spatial axes.
#include <algorithm>
#include <limits>

#include "core/formats/onnx/float64/window.h"

namespace normlens::formats::onnx::float64 {
namespace {

// columns[c][k][place]: the input elements that element k of the window meets in each channel of a group.
void gatherColumns(const double* x, int64_t channels, const Window& window, double* columns) {
  const int64_t area = product(window, &Axis::in), taps = product(window, &Axis::kernel);
  const int64_t places = product(window, &Axis::out);
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
    const int64_t places = product(window, &Axis::out), area = product(window, &Axis::in);
    const int64_t in = w.dim(1), out = w.dim(0) / groups, depth = in * product(window, &Axis::kernel);
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
  const int64_t area = product(window, &Axis::in), taps = product(window, &Axis::kernel);
  const int64_t places = product(window, &Axis::out);
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
    const int64_t area = product(window, &Axis::in);
    for (int64_t i = 0; i < product(shape); ++i) y[i] = bias.data ? bias.data[i / area % shape[1]] : 0.0;
    call.parallel(x.dim(0) * groups, [&](int64_t unit) { scatter(x, w, window, unit, groups, y); });
  };
}

// Columns of blocks back into an image; overlapping elements are summed.
Kernel makeCol2Im(const Attributes& attributes) {
  return [given = WindowAttributes(attributes)](Call& call) {
    const Array x = call.array(0);
    const Window window = windowOf(given, call.integers(2), call.integers(1));
    const int64_t taps = product(window, &Axis::kernel), places = product(window, &Axis::out);
    const int64_t area = product(window, &Axis::in);
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

const KernelRow kConvolutionKernels[] = {
    {"Conv", "ddDD", "d", makeConv, "Conv com.microsoft.FusedConv"},
    {"ConvTranspose", "ddD", "d", makeConvTranspose},
    {"Col2Im", "daa", "d", makeCol2Im},
};

}  // namespace

std::span<const KernelRow> convolutionKernels() { return kConvolutionKernels; }

}  // namespace normlens::formats::onnx::float64
