#include "core/run/diff.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/run/tensors.h"

namespace normlens::run {
namespace {

using graph::DType;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A complex tensor as its real and imaginary parts along one more axis.
graph::TensorView partsOfComplex(graph::TensorView view) {
  const DType part = view.dtype == DType::Complex64    ? DType::Float32
                     : view.dtype == DType::Complex128 ? DType::Float64
                                                       : DType::Unknown;
  if (part == DType::Unknown) return view;
  view.dtype = part;
  for (int64_t& stride : view.strides) stride *= 2;
  view.shape.push_back(2);
  view.strides.push_back(1);
  return view;
}

bool sameSpecial(double a, double b) { return (std::isnan(a) && std::isnan(b)) || (std::isinf(a) && a == b); }

TensorDiff measure(std::string name, const std::vector<double>& a, const std::vector<double>& b) {
  TensorDiff diff{.name = std::move(name)};
  double largest = 0, sum = 0, dot = 0, squaresA = 0, squaresB = 0;
  size_t counted = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (sameSpecial(a[i], b[i])) continue;
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
      return {.name = std::move(diff.name),
              .maxAbs = kInfinity,
              .maxRel = kInfinity,
              .meanAbs = kInfinity,
              .cosine = std::numeric_limits<double>::quiet_NaN(),
              .worst = static_cast<int64_t>(i),
              .worstA = a[i],
              .worstB = b[i]};
    }
    const double apart = std::abs(a[i] - b[i]);
    if (apart > diff.maxAbs) {
      diff.maxAbs = apart;
      diff.worst = static_cast<int64_t>(i);
    }
    largest = std::max(largest, std::abs(a[i]));
    sum += apart;
    dot += a[i] * b[i];
    squaresA += a[i] * a[i];
    squaresB += b[i] * b[i];
    ++counted;
  }
  if (diff.worst >= 0) {
    diff.worstA = a[static_cast<size_t>(diff.worst)];
    diff.worstB = b[static_cast<size_t>(diff.worst)];
  }
  diff.maxRel = diff.maxAbs == 0 ? 0 : diff.maxAbs / largest;
  diff.vacuous = counted == 0 && !a.empty();
  diff.meanAbs = counted ? sum / static_cast<double>(counted) : 0;
  if (squaresA > 0 && squaresB > 0) {
    diff.cosine = std::clamp(dot / (std::sqrt(squaresA) * std::sqrt(squaresB)), -1.0, 1.0);
  } else {
    diff.cosine = squaresA == squaresB ? 1 : 0;
  }
  return diff;
}

}  // namespace

Result<TensorDiff> compareTensors(std::string name, const graph::TensorView& a, const graph::TensorView& b) {
  if (a.shape != b.shape) {
    return fail(ErrorCode::BadInput, "'" + name + "' is " + describe(a.dtype, a.shape) + " in one model and " +
                                         describe(b.dtype, b.shape) + " in the other");
  }
  const graph::TensorView parts = partsOfComplex(a);
  const auto valuesA = graph::toDoubles(parts), valuesB = graph::toDoubles(partsOfComplex(b));
  if (!valuesA || !valuesB) {
    return fail(ErrorCode::Unsupported, "'" + name + "' holds " + std::string(graph::dtypeName(a.dtype)) +
                                            " elements, which cannot be compared");
  }
  TensorDiff diff = measure(std::move(name), *valuesA, *valuesB);
  diff.telling = graph::isFloat(parts.dtype) && !diff.vacuous && !valuesA->empty();
  return diff;
}

Result<std::vector<TensorDiff>> compareOutputs(const formats::Tensors& a, const formats::Tensors& b) {
  if (a.size() != b.size()) {
    return fail(ErrorCode::BadInput,
                "one model has " + std::to_string(a.size()) + " outputs and the other " + std::to_string(b.size()));
  }
  std::vector<TensorDiff> diffs;
  for (size_t i = 0; i < a.size(); ++i) {
    auto diff = compareTensors(a[i].name, a[i].view, b[i].view);
    if (!diff) return tl::unexpected(diff.error());
    diffs.push_back(std::move(*diff));
  }
  return diffs;
}

void Worst::include(const TensorDiff& diff) { include(Worst{diff.maxAbs, diff.maxRel}); }

void Worst::include(const Worst& other) {
  maxAbs = std::max(maxAbs, other.maxAbs);
  maxRel = std::max(maxRel, other.maxRel);
}

Worst worstOf(const std::vector<TensorDiff>& diffs) {
  Worst worst;
  for (const TensorDiff& diff : diffs) worst.include(diff);
  return worst;
}

}  // namespace normlens::run
