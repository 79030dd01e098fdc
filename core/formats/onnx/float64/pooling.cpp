// AveragePool and MaxPool; without a kernel_shape they are the global ones, whose window is the whole image.
#include <algorithm>
#include <limits>

#include "core/formats/onnx/float64/window.h"

namespace normlens::formats::onnx::float64 {
namespace {

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
    const int64_t area = product(window, &Axis::in), places = product(window, &Axis::out);
    const int64_t taps = product(window, &Axis::kernel), channels = x.dim(0) * x.dim(1);
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

const KernelRow kPoolKernels[] = {
    {"AveragePool", "d", "d", makeAveragePool, "AveragePool GlobalAveragePool"},
    {"MaxPool", "d", "d", makeMaxPool, nullptr, 0, 8},
    {"GlobalMaxPool", "d", "d", makeMaxPool},
};

}  // namespace

std::span<const KernelRow> poolKernels() { return kPoolKernels; }

}  // namespace normlens::formats::onnx::float64
