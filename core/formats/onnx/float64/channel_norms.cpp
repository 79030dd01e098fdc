// Normalisations by channel: instance, group, mean-variance and local response.
#include <algorithm>
#include <cmath>

#include "core/formats/onnx/float64/kernel.h"
#include "core/formats/onnx/float64/moments.h"

namespace normlens::formats::onnx::float64 {
namespace {

// input, scale[C], B[C]
Kernel makeInstanceNorm(const Attributes& attributes) {
  const double epsilon = attributes.number("epsilon", static_cast<double>(1e-5f));
  return [=](Call& call) {
    const Array x = call.array(0), scale = call.array(1), bias = call.array(2);
    double* const y = call.output(0, x.shape);
    const int64_t channels = x.dim(1), width = product(x.shape, 2, x.shape.size());
    eachRow(call, x.dim(0) * channels, [&](int64_t row) {
      const Moments moments = momentsOf(x.data + row * width, width, epsilon, true);
      const int64_t c = row % channels;
      for (int64_t i = 0; i < width; ++i) {
        y[row * width + i] = (x.data[row * width + i] - moments.mean) * moments.inverse * scale.data[c] + bias.data[c];
      }
    });
  };
}

// X, scale, bias: one number per group (opset 18) or per channel (21)
Kernel makeGroupNorm(const Attributes& attributes) {
  const double epsilon = attributes.number("epsilon", static_cast<double>(1e-5f));
  const int64_t groups = attributes.integer("num_groups", 1);
  return [=](Call& call) {
    const Array x = call.array(0), scale = call.array(1), bias = call.array(2);
    double* const y = call.output(0, x.shape);
    const int64_t channels = x.dim(1), area = product(x.shape, 2, x.shape.size());
    if (groups <= 0 || channels % groups != 0) throw std::runtime_error("channels that do not divide into the groups");
    const int64_t perGroup = channels / groups, width = perGroup * area;
    const bool byGroup = scale.count() != channels;
    eachRow(call, x.dim(0) * groups, [&](int64_t row) {
      const Moments moments = momentsOf(x.data + row * width, width, epsilon, true);
      for (int64_t i = 0; i < width; ++i) {
        const int64_t group = row % groups, c = byGroup ? group : group * perGroup + i / area;
        y[row * width + i] = (x.data[row * width + i] - moments.mean) * moments.inverse * scale.data[c] + bias.data[c];
      }
    });
  };
}

// (x - mean) / (sqrt(variance) + 1e-9) over the axes
Kernel makeMeanVarianceNorm(const Attributes& attributes) {
  auto axes = attributes.integers("axes");
  if (axes.empty()) axes = {0, 2, 3};
  return [axes](Call& call) {
    const Array x = call.array(0);
    Shape reduced = x.shape;
    for (const int64_t axis : axes) reduced.at(static_cast<size_t>(axis < 0 ? axis + x.rank() : axis)) = 1;
    const auto cells = static_cast<size_t>(product(reduced));
    const double n = static_cast<double>(x.count()) / static_cast<double>(std::max<size_t>(cells, 1));
    std::vector<double> mean(cells, 0), square(cells, 0);
    const auto each = [&](auto&& body) {
      forEachPair(x.shape, x.shape, reduced,
                  [&](int64_t i, int64_t, int64_t cell) { body(i, static_cast<size_t>(cell)); });
    };
    each([&](int64_t i, size_t cell) { mean[cell] += x.data[i] / n; });
    each([&](int64_t i, size_t cell) { square[cell] += (x.data[i] - mean[cell]) * (x.data[i] - mean[cell]) / n; });
    double* const y = call.output(0, x.shape);
    each([&](int64_t i, size_t cell) { y[i] = (x.data[i] - mean[cell]) / (std::sqrt(square[cell]) + 1e-9); });
  };
}

// Local response normalisation across channels.
Kernel makeLrn(const Attributes& attributes) {
  const double alpha = attributes.number("alpha", static_cast<double>(1e-4f)), beta = attributes.number("beta", 0.75),
               bias = attributes.number("bias", 1);
  const int64_t size = attributes.integer("size", 1);
  return [=](Call& call) {
    const Array x = call.array(0);
    double* const y = call.output(0, x.shape);
    const int64_t channels = x.dim(1), area = product(x.shape, 2, x.shape.size());
    for (int64_t n = 0; n < x.dim(0); ++n) {
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t first = std::max<int64_t>(0, c - (size - 1) / 2), last = std::min(channels - 1, c + size / 2);
        for (int64_t i = 0; i < area; ++i) {
          double squares = 0;
          for (int64_t k = first; k <= last; ++k) {
            const double value = x.data[(n * channels + k) * area + i];
            squares += value * value;
          }
          const int64_t at = (n * channels + c) * area + i;
          y[at] = x.data[at] / std::pow(bias + alpha / static_cast<double>(size) * squares, beta);
        }
      }
    }
  };
}

const KernelRow kRows[] = {
    {"InstanceNormalization", "ddd", "d", makeInstanceNorm},
    {"GroupNormalization", "ddd", "d", makeGroupNorm},
    {"MeanVarianceNormalization", "d", "d", makeMeanVarianceNorm},
    {"LRN", "d", "d", makeLrn},
};

}  // namespace

std::span<const KernelRow> channelNormKernels() { return kRows; }

}  // namespace normlens::formats::onnx::float64
