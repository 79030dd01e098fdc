// Conv, ConvTranspose and FusedConv over any number of spatial axes.
#include <algorithm>
#include <limits>

#include "core/formats/onnx/float64/kernel.h"

namespace normlens::formats::onnx::float64 {
namespace {

struct Window {
  std::vector<int64_t> kernel, strides, dilations, begin, end;  // by spatial axis
};

struct WindowAttributes {
  std::string autoPad;
  std::vector<int64_t> kernel, strides, dilations, pads, outputPadding, outputShape;
  int64_t group = 1;

  explicit WindowAttributes(const Attributes& attributes)
      : autoPad(attributes.text("auto_pad", "NOTSET")),
        kernel(attributes.integers("kernel_shape")),
        strides(attributes.integers("strides")),
        dilations(attributes.integers("dilations")),
        pads(attributes.integers("pads")),
        outputPadding(attributes.integers("output_padding")),
        outputShape(attributes.integers("output_shape")),
        group(attributes.integer("group", 1)) {}
};

// Pads of auto_pad SAME_* so that the output has ceil(in / stride) elements.
void padAlike(const WindowAttributes& given, const Shape& spatial, Window& window) {
  for (size_t i = 0; i < spatial.size(); ++i) {
    const int64_t out = (spatial[i] + window.strides[i] - 1) / window.strides[i];
    const int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    const int64_t total = std::max<int64_t>(0, (out - 1) * window.strides[i] + reach - spatial[i]);
    window.begin[i] = given.autoPad == "SAME_LOWER" ? (total + 1) / 2 : total / 2;
    window.end[i] = total - window.begin[i];
  }
}

Window windowOf(const WindowAttributes& given, const Shape& weight, const Shape& spatial) {
  const size_t axes = spatial.size();
  Window window;
  window.kernel.assign(weight.begin() + 2, weight.end());
  window.strides = given.strides.empty() ? std::vector<int64_t>(axes, 1) : given.strides;
  window.dilations = given.dilations.empty() ? std::vector<int64_t>(axes, 1) : given.dilations;
  window.begin.assign(axes, 0);
  window.end.assign(axes, 0);
  if (given.pads.size() == 2 * axes) {
    for (size_t i = 0; i < axes; ++i) {
      window.begin[i] = given.pads[i];
      window.end[i] = given.pads[i + axes];
    }
  }
  return window;
}

// Advances an index over `shape`; false after the last.
bool advance(Shape& index, const Shape& shape) {
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (++index[axis] < shape[axis]) return true;
    index[axis] = 0;
  }
  return false;
}

// columns[k][position]: the input elements that kernel element k of each channel of a group meets.
void gatherColumns(const double* x, int64_t channels, const Shape& spatial, const Window& window, const Shape& out,
                   double* columns) {
  const int64_t area = product(spatial), taps = product(window.kernel), positions = product(out);
  Shape tap(spatial.size(), 0);
  for (int64_t k = 0; k < taps; ++k) {
    Shape place(spatial.size(), 0);
    for (int64_t position = 0; position < positions; ++position) {
      int64_t offset = 0;
      bool inside = true;
      for (size_t i = 0; i < spatial.size(); ++i) {
        const int64_t at = place[i] * window.strides[i] - window.begin[i] + tap[i] * window.dilations[i];
        inside = inside && at >= 0 && at < spatial[i];
        offset = offset * spatial[i] + at;
      }
      for (int64_t c = 0; c < channels; ++c) {
        columns[(c * taps + k) * positions + position] = inside ? x[c * area + offset] : 0.0;
      }
      advance(place, out);
    }
    advance(tap, window.kernel);
  }
}

struct Convolution {
  Array x, w;
  Shape spatial, out;
  int64_t groups = 1, inPerGroup = 0, outPerGroup = 0;
  Window window;
};

Convolution prepare(const WindowAttributes& given, const Array& x, const Array& w) {
  Convolution conv{x, w, {x.shape.begin() + 2, x.shape.end()}, {}, given.group, 0, 0, {}};
  if (x.rank() != w.rank() || x.rank() < 3) throw std::runtime_error("a kernel of another rank than the input");
  conv.inPerGroup = w.dim(1);
  if (given.group < 1 || conv.inPerGroup * given.group != x.dim(1) || w.dim(0) % given.group != 0) {
    throw std::runtime_error("channels that do not fit the groups");
  }
  conv.outPerGroup = w.dim(0) / given.group;
  conv.window = windowOf(given, w.shape, conv.spatial);
  if (given.autoPad.starts_with("SAME")) padAlike(given, conv.spatial, conv.window);
  for (size_t i = 0; i < conv.spatial.size(); ++i) {
    const Window& window = conv.window;
    const int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    const int64_t room = conv.spatial[i] + window.begin[i] + window.end[i] - reach;
    conv.out.push_back(room < 0 ? 0 : room / window.strides[i] + 1);
  }
  return conv;
}

void convolve(Call& call, const Convolution& conv, const Array& bias, double* y) {
  const int64_t positions = product(conv.out), area = product(conv.spatial), taps = product(conv.window.kernel);
  const int64_t depth = conv.inPerGroup * taps;
  call.parallel(conv.x.dim(0) * conv.groups, [&](int64_t unit) {
    std::vector<double> columns(static_cast<size_t>(depth * positions));
    gatherColumns(conv.x.data + unit * conv.inPerGroup * area, conv.inPerGroup, conv.spatial, conv.window, conv.out,
                  columns.data());
    const int64_t group = unit % conv.groups;
    double* const out = y + unit * conv.outPerGroup * positions;
    for (int64_t c = 0; c < conv.outPerGroup; ++c) {
      const double start = bias.data ? bias.data[group * conv.outPerGroup + c] : 0.0;
      std::fill(out + c * positions, out + (c + 1) * positions, start);
    }
    multiply(conv.w.data + group * conv.outPerGroup * depth, depth, columns.data(), positions, out, positions,
             conv.outPerGroup, depth, positions, true);
  });
}

Shape outputShape(const Convolution& conv) {
  Shape shape{conv.x.dim(0), conv.w.dim(0)};
  shape.insert(shape.end(), conv.out.begin(), conv.out.end());
  return shape;
}

Kernel makeConv(const Attributes& attributes) {
  return [given = WindowAttributes(attributes)](Call& call) {
    const Convolution conv = prepare(given, call.array(0), call.array(1));
    convolve(call, conv, call.has(2) ? call.array(2) : Array{}, call.output(0, outputShape(conv)));
  };
}

// activation(conv + Z)
Kernel makeFusedConv(const Attributes& attributes) {
  const std::string name = attributes.text("activation", "");
  auto parameters = attributes.numbers("activation_params");
  parameters.resize(2, std::numeric_limits<double>::quiet_NaN());
  Activation f = name.empty() ? [](double x) { return x; } : activation(name, parameters[0], parameters[1]);
  return [given = WindowAttributes(attributes), f = std::move(f)](Call& call) {
    const Convolution conv = prepare(given, call.array(0), call.array(1));
    const Shape shape = outputShape(conv);
    double* const y = call.output(0, shape);
    convolve(call, conv, call.has(2) ? call.array(2) : Array{}, y);
    const Array z = call.has(3) ? call.array(3) : Array{};
    for (int64_t i = 0; i < product(shape); ++i) y[i] = f(z.data ? y[i] + z.data[i] : y[i]);
  };
}

// Output size and pads of a transposed convolution; see the operator's definition of output_shape and auto_pad.
Shape transposedSize(const WindowAttributes& given, const Shape& spatial, Window& window) {
  Shape out;
  for (size_t i = 0; i < spatial.size(); ++i) {
    const int64_t extra = i < given.outputPadding.size() ? given.outputPadding[i] : 0;
    const int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    const int64_t full = window.strides[i] * (spatial[i] - 1) + extra + reach;
    const bool same = given.autoPad.starts_with("SAME");
    if (given.outputShape.empty() && !same) {
      out.push_back(full - window.begin[i] - window.end[i]);
      continue;
    }
    const size_t skipped = given.outputShape.size() > spatial.size() ? given.outputShape.size() - spatial.size() : 0;
    const int64_t wanted = given.outputShape.empty() ? spatial[i] * window.strides[i] : given.outputShape[i + skipped];
    const int64_t total = std::max<int64_t>(0, full - wanted);
    window.begin[i] = given.autoPad == "SAME_UPPER" ? total / 2 : total - total / 2;
    window.end[i] = total - window.begin[i];
    out.push_back(wanted);
  }
  return out;
}

void scatter(const Array& x, const Array& w, const Window& window, const Shape& spatial, const Shape& out, int64_t unit,
             int64_t groups, double* y) {
  const int64_t inPerGroup = x.dim(1) / groups, outPerGroup = w.dim(1), group = unit % groups;
  const int64_t area = product(spatial), positions = product(out), taps = product(window.kernel);
  Shape place(spatial.size(), 0);
  for (int64_t at = 0; at < area; ++at, advance(place, spatial)) {
    Shape tap(spatial.size(), 0);
    for (int64_t k = 0; k < taps; ++k, advance(tap, window.kernel)) {
      int64_t offset = 0;
      bool inside = true;
      for (size_t i = 0; i < spatial.size(); ++i) {
        const int64_t to = place[i] * window.strides[i] - window.begin[i] + tap[i] * window.dilations[i];
        inside = inside && to >= 0 && to < out[i];
        offset = offset * out[i] + to;
      }
      if (!inside) continue;
      for (int64_t c = 0; c < inPerGroup; ++c) {
        const double value = x.data[(unit * inPerGroup + c) * area + at];
        const double* const weights = w.data + (group * inPerGroup + c) * outPerGroup * taps + k;
        for (int64_t o = 0; o < outPerGroup; ++o) {
          y[(unit * outPerGroup + o) * positions + offset] += value * weights[o * taps];
        }
      }
    }
  }
}

Kernel makeConvTranspose(const Attributes& attributes) {
  return [given = WindowAttributes(attributes)](Call& call) {
    const Array x = call.array(0), w = call.array(1), bias = call.has(2) ? call.array(2) : Array{};
    if (x.rank() != w.rank() || x.rank() < 3 || w.dim(0) != x.dim(1) || given.group < 1 ||
        x.dim(1) % given.group != 0) {
      throw std::runtime_error("a kernel that does not fit the input");
    }
    const Shape spatial(x.shape.begin() + 2, x.shape.end());
    Window window = windowOf(given, w.shape, spatial);
    const Shape out = transposedSize(given, spatial, window);
    Shape shape{x.dim(0), w.dim(1) * given.group};
    shape.insert(shape.end(), out.begin(), out.end());
    double* const y = call.output(0, shape);
    const int64_t positions = product(out);
    for (int64_t i = 0; i < product(shape); ++i) y[i] = bias.data ? bias.data[i / positions % shape[1]] : 0.0;
    call.parallel(x.dim(0) * given.group,
                  [&](int64_t unit) { scatter(x, w, window, spatial, out, unit, given.group, y); });
  };
}

const KernelRow kRows[] = {
    {"Conv", "ddD", "d", makeConv},
    {"FusedConv", "ddDD", "d", makeFusedConv},
    {"ConvTranspose", "ddD", "d", makeConvTranspose},
};

}  // namespace

std::span<const KernelRow> convolutionKernels() { return kRows; }

}  // namespace normlens::formats::onnx::float64
