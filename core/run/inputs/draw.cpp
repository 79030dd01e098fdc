#include "core/run/inputs/draw.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/geometry/random_numbers.h"
#include "core/run/tensors.h"

namespace normlens::run {
namespace {

using graph::DType;

constexpr int64_t kMaxElements = int64_t{1} << 31;

bool isInteger(DType dtype) { return dtype >= DType::UInt8 && dtype <= DType::Int64; }

tl::unexpected<Error> cannotDraw(const std::string& name, DType dtype, const graph::Shape& shape) {
  return fail(ErrorCode::BadInput, "input '" + name + "' of " + describe(dtype, shape) + " cannot be drawn at random",
              {"give arrays or describe it", HintKey::Inputs});
}

bool drawable(DType dtype, const graph::Shape& shape) {
  const auto count = graph::elementCount(shape);
  return (dtype == DType::Bool || isInteger(dtype) || graph::isFloat(dtype)) && count && *count <= kMaxElements;
}

std::vector<double> drawBySpec(const formats::InputSpec& spec, size_t count, RandomNumbers& draw) {
  std::vector<double> values(count);
  for (double& value : values) {
    if (spec.dtype == DType::Bool || isInteger(spec.dtype)) {
      value = draw.whole(spec.low, spec.high);
    } else {
      value = spec.uniform ? spec.low + draw.unit() * (spec.high - spec.low) : draw.normal();
    }
  }
  return values;
}

struct Moments {
  double mean = 0, deviation = 0;
};

Moments momentsOf(const std::vector<double>& values) {
  Moments moments;
  for (const double value : values) moments.mean += value / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - moments.mean) * (value - moments.mean);
  moments.deviation = std::sqrt(squares / static_cast<double>(values.size()));
  return moments;
}

bool isMask(DType dtype, const std::vector<double>& values) {
  if (dtype == DType::Bool) return true;
  std::set<double> distinct;
  for (const double value : values) {
    distinct.insert(value);
    if (distinct.size() > 2) return false;
  }
  return values.size() > 2;
}

std::vector<double> drawLikeOne(DType dtype, const std::vector<double>& sample, size_t count, RandomNumbers& draw) {
  std::vector<double> values(count);
  if (sample.empty()) return values;
  for (size_t i = 0; i < count; ++i) values[i] = sample[i % sample.size()];
  if (!std::ranges::all_of(sample, [](double value) { return std::isfinite(value); })) return values;
  if (isMask(dtype, sample)) {
    draw.shuffle(values);
  } else if (isInteger(dtype)) {
    const auto [low, high] = std::ranges::minmax(sample);
    for (double& value : values) value = draw.whole(low, high);
  } else {
    const Moments moments = momentsOf(sample);
    for (double& value : values) value = moments.mean + moments.deviation * draw.normal();
  }
  return values;
}

}  // namespace

Result<formats::Tensors> drawInputs(const std::vector<formats::InputSpec>& specs, uint64_t seed) {
  RandomNumbers draw(seed);
  formats::Tensors tensors;
  for (const formats::InputSpec& spec : specs) {
    if (!drawable(spec.dtype, spec.shape)) return cannotDraw(spec.name, spec.dtype, spec.shape);
    const auto count = static_cast<size_t>(*graph::elementCount(spec.shape));
    tensors.push_back({spec.name, fromDoubles(spec.dtype, spec.shape, drawBySpec(spec, count, draw))});
  }
  return tensors;
}

Result<formats::Tensors> drawLike(const formats::Tensors& sample, const std::vector<graph::Shape>& shapes,
                                  uint64_t seed) {
  if (shapes.size() != sample.size()) return fail(ErrorCode::Internal, "one shape per input is needed");
  RandomNumbers draw(seed);
  formats::Tensors tensors;
  for (size_t i = 0; i < sample.size(); ++i) {
    const auto values = graph::toDoubles(sample[i].view);
    const DType dtype = sample[i].view.dtype;
    if (!values || !drawable(dtype, shapes[i])) return cannotDraw(sample[i].name, dtype, shapes[i]);
    const auto count = static_cast<size_t>(*graph::elementCount(shapes[i]));
    tensors.push_back({sample[i].name, fromDoubles(dtype, shapes[i], drawLikeOne(dtype, *values, count, draw))});
  }
  return tensors;
}

Result<formats::Tensors> scaledLike(const formats::Tensors& sample, double factor, Sign sign) {
  formats::Tensors scaled = sample;
  for (formats::NamedTensor& tensor : scaled) {
    const DType dtype = tensor.view.dtype;
    if (!graph::isFloat(dtype)) continue;
    auto values = graph::toDoubles(tensor.view);
    if (!values) return cannotDraw(tensor.name, dtype, tensor.view.shape);
    if (isMask(dtype, *values) || !std::ranges::all_of(*values, [](double value) { return std::isfinite(value); })) {
      continue;
    }
    for (double& value : *values) value = factor * (sign == Sign::Positive ? std::abs(value) : value);
    tensor.view = fromDoubles(dtype, tensor.view.shape, *values);
  }
  return scaled;
}

std::vector<graph::Shape> shapesOf(const formats::Tensors& tensors) {
  std::vector<graph::Shape> shapes;
  for (const auto& tensor : tensors) shapes.push_back(tensor.view.shape);
  return shapes;
}

}  // namespace normlens::run
