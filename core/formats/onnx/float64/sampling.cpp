// GridSample (opset 16) and MaxUnpool.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/formats/onnx/float64/kernel.h"

namespace normlens::formats::onnx::float64 {
namespace {

struct GridSample {
  std::string mode, padding;
  bool alignCorners;

  explicit GridSample(const Attributes& attributes)
      : mode(attributes.text("mode", "bilinear")),
        padding(attributes.text("padding_mode", "zeros")),
        alignCorners(attributes.integer("align_corners", 0) != 0) {}

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
    if (padding == "zeros") return -1;
    if (padding == "reflection") {
      at = static_cast<int64_t>(reflect(static_cast<double>(at), size));
    }
    return std::clamp<int64_t>(at, 0, size - 1);
  }
  // A position outside as the padding sees it, before it is interpolated.
  [[nodiscard]] double moved(double x, int64_t size) const {
    if (padding == "border") return std::clamp(x, 0.0, static_cast<double>(size - 1));
    return padding == "reflection" ? reflect(x, size) : x;
  }
};

std::array<double, 4> cubicWeights(double t) {
  constexpr double kA = -0.75;
  const auto near = [](double s) { return ((kA + 2) * s - (kA + 3)) * s * s + 1; };
  const auto far = [](double s) { return ((kA * s - 5 * kA) * s + 8 * kA) * s - 4 * kA; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

// The elements around a position and their weights, along one axis.
struct Around {
  std::array<int64_t, 4> at{};
  std::array<double, 4> weight{};
  int count = 0;
};

Around around(const GridSample& how, double x, int64_t size) {
  Around taps;
  if (how.mode == "nearest") {
    taps.count = 1;
    taps.at[0] = how.inside(static_cast<int64_t>(std::nearbyint(how.moved(x, size))), size);
    taps.weight[0] = 1;
  } else if (how.mode == "bicubic" || how.mode == "cubic") {
    const double floor = std::floor(x);
    taps.count = 4;
    taps.weight = cubicWeights(x - floor);
    for (int i = 0; i < 4; ++i) {
      taps.at[static_cast<size_t>(i)] = how.inside(static_cast<int64_t>(floor) - 1 + i, size);
    }
  } else {
    const double moved = how.moved(x, size), floor = std::floor(moved);
    taps.count = 2;
    taps.weight = {1 - (moved - floor), moved - floor, 0, 0};
    for (int i = 0; i < 2; ++i) taps.at[static_cast<size_t>(i)] = how.inside(static_cast<int64_t>(floor) + i, size);
  }
  return taps;
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
        for (size_t i = 0; i < static_cast<size_t>(down.count); ++i) {
          for (size_t j = 0; j < static_cast<size_t>(across.count); ++j) {
            if (down.at[i] < 0 || across.at[j] < 0) continue;
            sum += down.weight[i] * across.weight[j] * image[down.at[i] * width + across.at[j]];
          }
        }
        y[(n * channels + c) * positions + position] = sum;
      }
    });
  };
}

// X, indices, output_shape?
Kernel makeMaxUnpool(const Attributes& attributes) {
  return [kernel = attributes.integers("kernel_shape"), strides = attributes.integers("strides"),
          pads = attributes.integers("pads")](Call& call) {
    const Array x = call.array(0);
    const auto indices = call.integers(1);
    Shape shape{x.dim(0), x.dim(1)};
    for (size_t i = 0; i < kernel.size(); ++i) {
      const int64_t padding = pads.empty() ? 0 : pads.at(i) + pads.at(i + kernel.size());
      shape.push_back((x.shape.at(i + 2) - 1) * (strides.empty() ? 1 : strides.at(i)) - padding + kernel[i]);
    }
    const Shape out = call.has(2) ? call.integers(2) : shape;
    if (out.size() != shape.size()) throw std::runtime_error("an output shape of another rank than the input");
    std::vector<double> inferred(static_cast<size_t>(product(shape)), 0.0);
    for (int64_t i = 0; i < x.count(); ++i) {
      inferred.at(static_cast<size_t>(indices.at(static_cast<size_t>(i)))) = x.data[i];
    }
    double* const y = call.output(0, out);
    std::fill(y, y + product(out), 0.0);
    for (int64_t i = 0; i < product(shape); ++i) {
      int64_t rest = i, to = 0, scale = 1;
      bool fits = true;
      for (size_t axis = shape.size(); axis-- > 0;) {
        const int64_t at = rest % shape[axis];
        rest /= shape[axis];
        fits = fits && at < out[axis];
        to += at * scale;
        scale *= out[axis];
      }
      if (fits) y[to] = inferred[static_cast<size_t>(i)];
    }
  };
}

const KernelRow kRows[] = {{"GridSample", "dd", "d", makeGridSample}, {"MaxUnpool", "daA", "d", makeMaxUnpool}};

}  // namespace

std::span<const KernelRow> samplingKernels() { return kRows; }

}  // namespace normlens::formats::onnx::float64
