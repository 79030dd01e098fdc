// Resize (opset 10 and later) and Upsample: nearest, linear and cubic, one axis after the other; GridSample (opset 16).
#include <algorithm>
#include <array>
#include <cmath>

#include "core/formats/onnx/float64/kernel.h"

namespace normlens::formats::onnx::float64 {
namespace {

struct Resize {
  std::string mode, coordinates, nearest;
  double cubicA = -0.75;
  bool excludeOutside = false, antialias = false;
  std::vector<int64_t> axes;
  std::vector<double> scales;  // Set for Upsample 7.
  int64_t opset = 0;
  bool upsample = false;

  explicit Resize(const Attributes& attributes, bool isUpsample = false)
      : mode(attributes.text("mode", "nearest")),
        coordinates(attributes.text("coordinate_transformation_mode", "half_pixel")),
        nearest(attributes.text("nearest_mode", "round_prefer_floor")),
        cubicA(attributes.number("cubic_coeff_a", -0.75)),
        excludeOutside(attributes.integer("exclude_outside", 0) != 0),
        antialias(attributes.integer("antialias", 0) != 0),
        axes(attributes.integers("axes")),
        scales(attributes.numbers("scales")),
        opset(attributes.integer(kOpset, 19)),
        upsample(isUpsample) {
    if (upsample || opset < 11) {
      coordinates = "asymmetric";
      nearest = "floor";
    }
    const bool stretches = attributes.text("keep_aspect_ratio_policy", "stretch") == "stretch";
    if (!stretches || coordinates == "tf_crop_and_resize" || coordinates == "half_pixel_symmetric") {
      throw std::runtime_error("an option that is not supported in double");
    }
  }
};

// One axis of the work.
struct Plan {
  int64_t in = 0, out = 0;
  double scale = 1;
};

struct Tap {
  int64_t at = 0;
  double weight = 0;
};
// By output element: what it is made of.
using Taps = std::vector<std::vector<Tap>>;

double sourceOf(const Resize& how, const Plan& plan, int64_t x) {
  const auto at = static_cast<double>(x), in = static_cast<double>(plan.in), out = static_cast<double>(plan.out);
  if (how.coordinates == "asymmetric") return at / plan.scale;
  if (how.coordinates == "pytorch_half_pixel") return out > 1 ? (at + 0.5) / plan.scale - 0.5 : 0.0;
  if (how.coordinates == "align_corners") return out == 1 ? 0.0 : at * (in - 1) / (out - 1);
  if (how.coordinates == "tf_half_pixel_for_nn") return (at + 0.5) / plan.scale;
  return (at + 0.5) / plan.scale - 0.5;
}

int64_t nearestOf(const Resize& how, double x) {
  const double rounded = how.nearest == "ceil"                ? std::ceil(x)
                         : how.nearest == "floor"             ? std::floor(x)
                         : how.nearest == "round_prefer_ceil" ? std::floor(x + 0.5)
                                                              : std::ceil(x - 0.5);
  return static_cast<int64_t>(rounded);
}

double linearWeight(double distance) { return std::max(0.0, 1 - std::abs(distance)); }

double cubicWeight(double distance, double a) {
  const double s = std::abs(distance);
  if (s <= 1) return ((a + 2) * s - (a + 3)) * s * s + 1;
  if (s < 2) return ((a * s - 5 * a) * s + 8 * a) * s - 4 * a;
  return 0;
}

// Weights of the elements around x. Where shrinking is smoothed, the window grows by 1 / scale.
std::vector<Tap> interpolate(const Resize& how, const Plan& plan, double x) {
  const bool cubic = how.mode == "cubic";
  const double stretch = how.antialias && plan.scale < 1 ? 1 / plan.scale : 1;
  const double reach = (cubic ? 2 : 1) * stretch;
  const auto first = static_cast<int64_t>(std::floor(x - reach)) + 1,
             last = static_cast<int64_t>(std::ceil(x + reach)) - 1;
  std::vector<Tap> taps;
  double sum = 0;
  for (int64_t at = first; at <= last; ++at) {
    const double distance = (static_cast<double>(at) - x) / stretch;
    double weight = cubic ? cubicWeight(distance, how.cubicA) : linearWeight(distance);
    const bool outside = at < 0 || at >= plan.in;
    if (outside && how.excludeOutside) weight = 0;
    sum += weight;
    taps.push_back({std::clamp<int64_t>(at, 0, plan.in - 1), weight});
  }
  if (how.excludeOutside || how.antialias) {
    for (Tap& tap : taps) tap.weight /= sum;
  }
  return taps;
}

Taps tapsOf(const Resize& how, const Plan& plan) {
  Taps taps;
  for (int64_t i = 0; i < plan.out; ++i) {
    double x = sourceOf(how, plan, i);
    if (how.mode == "nearest") {
      taps.push_back({{std::clamp<int64_t>(nearestOf(how, x), 0, plan.in - 1), 1.0}});
    } else {
      if (how.mode == "linear" && !how.antialias) x = std::clamp(x, 0.0, static_cast<double>(plan.in - 1));
      taps.push_back(interpolate(how, plan, x));
    }
  }
  return taps;
}

std::vector<size_t> axesOf(const Resize& how, size_t rank) {
  std::vector<size_t> axes;
  for (const int64_t axis : how.axes) {
    axes.push_back(static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis));
    if (axes.back() >= rank) throw std::runtime_error("an axis outside the input");
  }
  if (how.axes.empty()) {
    for (size_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  return axes;
}

std::vector<double> given(Call& call, size_t input) {
  if (!call.has(input)) return {};
  const Array array = call.array(input);
  return {array.data, array.data + array.count()};
}

std::vector<Plan> planOf(const Resize& how, Call& call, const Array& x) {
  std::vector<Plan> plans(x.shape.size());
  for (size_t i = 0; i < plans.size(); ++i) plans[i].in = plans[i].out = x.shape[i];
  const auto axes = axesOf(how, plans.size());
  const bool early = how.upsample || how.opset < 11;  // inputs X, scales
  const auto scales = how.scales.empty() ? given(call, early ? 1 : 2) : how.scales;
  const auto sizes = !early && call.has(3) ? call.integers(3) : std::vector<int64_t>{};
  if (sizes.size() == axes.size() && !axes.empty()) {
    for (size_t i = 0; i < axes.size(); ++i) {
      Plan& plan = plans[axes[i]];
      plan.out = sizes[i];
      plan.scale = static_cast<double>(plan.out) / static_cast<double>(plan.in);
    }
  } else if (scales.size() == axes.size()) {
    for (size_t i = 0; i < axes.size(); ++i) {
      Plan& plan = plans[axes[i]];
      plan.scale = scales[i];
      // The size is found in float32, as the float model finds it: 10 elements at 0.7 are 7.
      plan.out = static_cast<int64_t>(std::floor(static_cast<float>(plan.in) * static_cast<float>(scales[i])));
    }
  } else {
    throw std::runtime_error("scales or sizes that do not fit the input");
  }
  return plans;
}

std::vector<double> resizeAxis(const std::vector<double>& from, const Shape& shape, size_t axis, const Taps& taps) {
  const int64_t before = product(shape, 0, axis), behind = product(shape, axis + 1, shape.size());
  const int64_t in = shape[axis], out = static_cast<int64_t>(taps.size());
  std::vector<double> to(static_cast<size_t>(before * out * behind), 0.0);
  for (int64_t b = 0; b < before; ++b) {
    for (int64_t i = 0; i < out; ++i) {
      double* const row = to.data() + (b * out + i) * behind;
      for (const Tap& tap : taps[static_cast<size_t>(i)]) {
        const double* const source = from.data() + (b * in + tap.at) * behind;
        for (int64_t c = 0; c < behind; ++c) row[c] += tap.weight * source[c];
      }
    }
  }
  return to;
}

void resize(Call& call, const Resize& how) {
  const Array x = call.array(0);
  const auto plans = planOf(how, call, x);
  std::vector<double> values(x.data, x.data + x.count());
  Shape shape = x.shape;
  for (size_t axis = 0; axis < plans.size(); ++axis) {
    if (plans[axis].in == plans[axis].out && plans[axis].scale == 1) continue;
    if (plans[axis].in == 0) throw std::runtime_error("an empty input");
    values = resizeAxis(values, shape, axis, tapsOf(how, plans[axis]));
    shape[axis] = plans[axis].out;
  }
  std::ranges::copy(values, call.output(0, shape));
}

Kernel makeResize(const Attributes& attributes) {
  return [how = Resize(attributes)](Call& call) { resize(call, how); };
}

Kernel makeUpsample(const Attributes& attributes) {
  return [how = Resize(attributes, true)](Call& call) { resize(call, how); };
}

// ---- GridSample

struct GridSample {
  std::string mode, padding;
  bool alignCorners;

  explicit GridSample(const Attributes& attributes)
      : mode(attributes.text("mode", "bilinear")),
        padding(attributes.text("padding_mode", "zeros")),
        alignCorners(attributes.integer("align_corners", 0) != 0) {
    if (mode == "bicubic") throw std::runtime_error("bicubic sampling is not supported in double");
  }

  // From [-1, 1] to elements.
  [[nodiscard]] double place(double x, int64_t size) const {
    const auto length = static_cast<double>(size);
    return alignCorners ? (x + 1) / 2 * (length - 1) : ((x + 1) * length - 1) / 2;
  }
  [[nodiscard]] double reflect(double x, int64_t size) const {
    const double low = alignCorners ? 0 : -0.5, high = static_cast<double>(size) - (alignCorners ? 1 : 0.5);
    const double range = high - low;
    if (range <= 0) return 0;
    double past = std::fmod(std::abs(x - low), 2 * range);
    if (past > range) past = 2 * range - past;
    return low + past;
  }
  // A place outside by the padding; nullopt-like -1: zero.
  [[nodiscard]] int64_t inside(int64_t at, int64_t size) const {
    if (at >= 0 && at < size) return at;
    return padding == "zeros" ? -1 : std::clamp<int64_t>(at, 0, size - 1);
  }
  // A position outside as the padding sees it, before it is interpolated.
  [[nodiscard]] double moved(double x, int64_t size) const {
    if (padding == "border") return std::clamp(x, 0.0, static_cast<double>(size - 1));
    return padding == "reflection" ? reflect(x, size) : x;
  }
};

// The elements around a position and their weights, along one axis.
struct Around {
  std::array<int64_t, 2> at{};
  std::array<double, 2> weight{};
};

Around around(const GridSample& how, double x, int64_t size) {
  const double moved = how.moved(x, size), floor = std::floor(moved);
  if (how.mode == "nearest") return {{how.inside(static_cast<int64_t>(std::nearbyint(moved)), size), -1}, {1, 0}};
  const auto first = static_cast<int64_t>(floor);
  return {{how.inside(first, size), how.inside(first + 1, size)}, {1 - (moved - floor), moved - floor}};
}

// X [N][C][H][W], grid [N][h][w][2] of (x, y)
Kernel makeGridSample(const Attributes& attributes) {
  return [how = GridSample(attributes)](Call& call) {
    const Array x = call.array(0), grid = call.array(1);
    if (x.rank() != 4 || grid.rank() != 4) throw std::runtime_error("an input that is not an image");
    const int64_t channels = x.dim(1), height = x.dim(2), width = x.dim(3), rows = grid.dim(1), columns = grid.dim(2);
    double* const y = call.output(0, {x.dim(0), channels, rows, columns});
    const int64_t positions = rows * columns;
    call.parallel(x.dim(0) * positions, [&](int64_t unit) {
      const int64_t n = unit / positions, position = unit % positions;
      const Around across = around(how, how.place(grid.data[2 * unit], width), width);
      const Around down = around(how, how.place(grid.data[2 * unit + 1], height), height);
      for (int64_t c = 0; c < channels; ++c) {
        const double* const image = x.data + (n * channels + c) * height * width;
        double sum = 0;
        for (size_t i = 0; i < down.at.size(); ++i) {
          for (size_t j = 0; j < across.at.size(); ++j) {
            if (down.at[i] < 0 || across.at[j] < 0) continue;
            sum += down.weight[i] * across.weight[j] * image[down.at[i] * width + across.at[j]];
          }
        }
        y[(n * channels + c) * positions + position] = sum;
      }
    });
  };
}

const KernelRow kResizeKernels[] = {
    {"Resize", "dDDA", "d", makeResize},
    {"Upsample", "dD", "d", makeUpsample},
    {"GridSample", "dd", "d", makeGridSample, nullptr, 0, 20},
};

}  // namespace

std::span<const KernelRow> resizeKernels() { return kResizeKernels; }

}  // namespace normlens::formats::onnx::float64
