// AveragePool, LpPool and the global pools.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/formats/onnx/float64/kernel.h"

namespace normlens::formats::onnx::float64 {
namespace {

struct Pool {
  std::string autoPad;
  std::vector<int64_t> kernel, strides, dilations, pads;
  bool ceil = false, countPads = false;
  double p = 2;

  explicit Pool(const Attributes& attributes)
      : autoPad(attributes.text("auto_pad", "NOTSET")),
        kernel(attributes.integers("kernel_shape")),
        strides(attributes.integers("strides")),
        dilations(attributes.integers("dilations")),
        pads(attributes.integers("pads")),
        ceil(attributes.integer("ceil_mode", 0) != 0),
        countPads(attributes.integer("count_include_pad", 0) != 0),
        p(static_cast<double>(attributes.integer("p", 2))) {
    strides.resize(kernel.size(), 1);
    dilations.resize(kernel.size(), 1);
    pads.resize(2 * kernel.size(), 0);
  }
};

// One axis: output size and the pads in use.
struct Axis {
  int64_t out = 0, begin = 0, end = 0;
};

Axis axisOf(const Pool& pool, int64_t in, size_t i) {
  Axis axis{0, pool.pads[i], pool.pads[i + pool.kernel.size()]};
  const int64_t stride = pool.strides[i], reach = (pool.kernel[i] - 1) * pool.dilations[i] + 1;
  if (pool.autoPad.starts_with("SAME")) {
    axis.out = (in + stride - 1) / stride;
    const int64_t total = std::max<int64_t>(0, (axis.out - 1) * stride + reach - in);
    axis.begin = pool.autoPad == "SAME_LOWER" ? (total + 1) / 2 : total / 2;
    axis.end = total - axis.begin;
    return axis;
  }
  if (pool.autoPad == "VALID") axis.begin = axis.end = 0;
  const int64_t room = in + axis.begin + axis.end - reach;
  if (room < 0) return axis;
  axis.out = (room + (pool.ceil ? stride - 1 : 0)) / stride + 1;
  // A window that would start in the padding behind the input does not count.
  if (pool.ceil && (axis.out - 1) * stride >= in + axis.begin) --axis.out;
  return axis;
}

// What one window meets, as offsets into one channel; `padded`: its elements with those in the padding, as far as the
// padded input reaches.
struct Met {
  std::vector<int64_t> offsets;
  int64_t padded = 0;
};

Met meet(const Pool& pool, const std::vector<Axis>& axes, const Shape& spatial, const Shape& place) {
  Met met{{0}, 1};
  for (size_t i = 0; i < spatial.size(); ++i) {
    std::vector<int64_t> offsets;
    int64_t padded = 0;
    for (int64_t k = 0; k < pool.kernel[i]; ++k) {
      const int64_t at = place[i] * pool.strides[i] - axes[i].begin + k * pool.dilations[i];
      if (at < spatial[i] + axes[i].end) ++padded;
      if (at < 0 || at >= spatial[i]) continue;
      for (const int64_t before : met.offsets) offsets.push_back(before * spatial[i] + at);
    }
    met.offsets = std::move(offsets);
    met.padded *= padded;
  }
  return met;
}

using Reduce = std::function<double(const double* channel, const Met& met)>;

void pool(Call& call, const Pool& pool, const Reduce& reduce) {
  const Array x = call.array(0);
  const Shape spatial(x.shape.begin() + 2, x.shape.end());
  if (pool.kernel.size() != spatial.size()) throw std::runtime_error("a window of another rank than the input");
  std::vector<Axis> axes;
  Shape shape{x.dim(0), x.dim(1)}, out;
  for (size_t i = 0; i < spatial.size(); ++i) {
    axes.push_back(axisOf(pool, spatial[i], i));
    out.push_back(axes.back().out);
    shape.push_back(axes.back().out);
  }
  double* const y = call.output(0, shape);
  const int64_t area = product(spatial), positions = product(out), channels = x.dim(0) * x.dim(1);
  call.parallel(positions, [&](int64_t position) {
    Shape place(spatial.size(), 0);
    for (size_t i = spatial.size(), rest = static_cast<size_t>(position); i-- > 0;) {
      place[i] = static_cast<int64_t>(rest) % out[i];
      rest /= static_cast<size_t>(out[i]);
    }
    const Met met = meet(pool, axes, spatial, place);
    for (int64_t c = 0; c < channels; ++c) y[c * positions + position] = reduce(x.data + c * area, met);
  });
}

double powerMean(const double* channel, const std::vector<int64_t>& offsets, double p) {
  double sum = 0;
  for (const int64_t offset : offsets) sum += std::pow(std::abs(channel[offset]), p);
  return std::pow(sum, 1 / p);
}

Kernel makeAveragePool(const Attributes& attributes) {
  return [given = Pool(attributes)](Call& call) {
    pool(call, given, [&](const double* channel, const Met& met) {
      double sum = 0;
      for (const int64_t offset : met.offsets) sum += channel[offset];
      const auto counted = given.countPads ? met.padded : static_cast<int64_t>(met.offsets.size());
      return sum / static_cast<double>(counted);
    });
  };
}

// Without the indices, as it was before opset 8.
Kernel makeMaxPool(const Attributes& attributes) {
  return [given = Pool(attributes)](Call& call) {
    pool(call, given, [](const double* channel, const Met& met) {
      double best = -std::numeric_limits<double>::infinity();
      for (const int64_t offset : met.offsets) best = std::max(best, channel[offset]);
      return best;
    });
  };
}

Kernel makeLpPool(const Attributes& attributes) {
  return [given = Pool(attributes)](Call& call) {
    pool(call, given, [&](const double* channel, const Met& met) { return powerMean(channel, met.offsets, given.p); });
  };
}

void globalPool(Call& call, const std::function<double(const double*, int64_t)>& reduce) {
  const Array x = call.array(0);
  Shape shape = x.shape;
  std::fill(shape.begin() + 2, shape.end(), 1);
  const int64_t area = product(x.shape, 2, x.shape.size());
  double* const y = call.output(0, shape);
  for (int64_t i = 0; i < product(shape); ++i) y[i] = reduce(x.data + i * area, area);
}

Kernel makeGlobalAveragePool(const Attributes&) {
  return [](Call& call) {
    globalPool(call, [](const double* x, int64_t count) {
      double sum = 0;
      for (int64_t i = 0; i < count; ++i) sum += x[i];
      return sum / static_cast<double>(count);
    });
  };
}

Kernel makeGlobalMaxPool(const Attributes&) {
  return [](Call& call) {
    globalPool(call, [](const double* x, int64_t count) {
      if (count == 0) throw std::runtime_error("a maximum of no elements");
      return *std::max_element(x, x + count);
    });
  };
}

Kernel makeGlobalLpPool(const Attributes& attributes) {
  return [p = static_cast<double>(attributes.integer("p", 2))](Call& call) {
    globalPool(call, [p](const double* x, int64_t count) {
      double sum = 0;
      for (int64_t i = 0; i < count; ++i) sum += std::pow(std::abs(x[i]), p);
      return std::pow(sum, 1 / p);
    });
  };
}

const KernelRow kRows[] = {
    {"AveragePool", "d", "d", makeAveragePool},
    {"MaxPool", "d", "d", makeMaxPool},
    {"LpPool", "d", "d", makeLpPool},
    {"GlobalAveragePool", "d", "d", makeGlobalAveragePool},
    {"GlobalMaxPool", "d", "d", makeGlobalMaxPool},
    {"GlobalLpPool", "d", "d", makeGlobalLpPool},
};

}  // namespace

std::span<const KernelRow> poolKernels() { return kRows; }

}  // namespace normlens::formats::onnx::float64
