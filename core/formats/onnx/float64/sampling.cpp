// GridSample (opset 16).
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

const KernelRow kSamplingKernels[] = {{"GridSample", "dd", "d", makeGridSample, nullptr, 0, 20}};

}  // namespace

std::span<const KernelRow> samplingKernels() { return kSamplingKernels; }

}  // namespace normlens::formats::onnx::float64
