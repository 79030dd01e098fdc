#include "core/run/geometry/norm_geometry.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "core/base/geometry/norm_formulas.h"
#include "core/base/geometry/vector_geometry.h"
#include "core/run/geometry/row_reader.h"
#include "core/run/inputs/draw.h"
#include "kernels/reference/row_norm.h"

namespace normlens::run {
namespace {

constexpr double kStep = 0.1;  // degrees
constexpr int kAbove = 900;    // steps from 90 to 180: the middle one is at kAbove
constexpr int kMost = 64;      // steps of the result

// Returns the step that a fine one becomes when an odd number of steps are made one, which keeps 90 in the middle.
int merged(int fine, int factor) {
  const int fromMiddle = fine - kAbove;
  return static_cast<int>(std::floor((fromMiddle + factor / 2.0) / factor));
}

// Leaves out a vector along 1: only rounding is left of it, which has no angle.
void addBare(std::span<const double> row, Running& bare) {
  constexpr double kRounding = 1e-12;
  if (1 - geometry::geometryOf(row).meanShare > kRounding)
    bare.add(geometry::geometryOf(geometry::layerNormOf(row)).angleDeg);
}

}  // namespace

void Running::add(double value) {
  ++count_;
  const double before = value - mean_;
  mean_ += before / static_cast<double>(count_);
  squares_ += before * (value - mean_);
}

Spread Running::spread() const {
  if (count_ == 0) return {};
  return {mean_, std::sqrt(squares_ / static_cast<double>(count_))};
}

AngleTally::AngleTally() : fine_(2 * kAbove + 1) {}

void AngleTally::add(double angleDeg) {
  const double place = std::floor((angleDeg - 90) / kStep + 0.5) + kAbove;
  ++fine_[static_cast<size_t>(std::clamp(place, 0.0, 2.0 * kAbove))];
}

AngleCounts AngleTally::take() const {
  const auto some = [](int64_t count) { return count > 0; };
  const auto first = std::ranges::find_if(fine_, some);
  if (first == fine_.end()) return {};
  const auto low = static_cast<int>(first - fine_.begin());
  int high = 2 * kAbove;
  while (fine_[static_cast<size_t>(high)] == 0) --high;
  int factor = 1;
  while (merged(high, factor) - merged(low, factor) >= kMost) factor += 2;
  AngleCounts counted;
  counted.step = kStep * factor;
  counted.low = 90 + (merged(low, factor) - 0.5) * counted.step;
  counted.counts.resize(static_cast<size_t>(merged(high, factor) - merged(low, factor)) + 1);
  for (int fine = low; fine <= high; ++fine) {
    counted.counts[static_cast<size_t>(merged(fine, factor) - merged(low, factor))] += fine_[static_cast<size_t>(fine)];
  }
  return counted;
}

double swapError(std::span<const double> x, const NormConstants& constants) {
  namespace reference = kernels::reference;
  const auto& [gamma, beta, eps] = constants;
  const auto before = reference::affine(reference::layerNorm(x, eps), gamma, beta);
  const auto after = reference::affine(reference::rmsNorm(x, eps), gamma, beta);
  const double apart = geometry::distance(after, before);
  return apart == 0 ? 0 : apart / geometry::lengthOf(before);
}

bool SideSums::addRow(std::span<const double> row) {
  ++side_.rows;
  if (!std::ranges::all_of(row, [](double v) { return std::isfinite(v); })) {
    ++side_.notFinite;
    return false;
  }
  const auto geometry = geometry::geometryOf(row);
  length_.add(geometry.length);
  if (geometry.length == 0) {
    ++side_.zero;
    return true;
  }
  angle_.add(geometry.angleDeg);
  angles_.add(geometry.angleDeg);
  share_.add(geometry.meanShare);
  return true;
}

Status SideSums::add(const graph::TensorView& view, const std::vector<int64_t>& axes) {
  return forEachRow(view, axes, [&](std::span<const double> row) { addRow(row); });
}

SideGeometry SideSums::take() const {
  SideGeometry side = side_;
  side.angleDeg = angle_.spread();
  side.length = length_.spread();
  side.meanShare = share_.spread();
  side.angles = angles_.take();
  return side;
}

Status InputSums::add(const graph::TensorView& view) {
  return forEachRow(view, question_.axes, [&](std::span<const double> row) { addRow(row); });
}

void InputSums::addRow(std::span<const double> row) {
  width_ = static_cast<int64_t>(row.size());
  if (controls_.empty()) controls_ = controlVectors(width_, question_.seed);
  if (!side_.addRow(row)) return;
  for (const auto& control : controls_) {
    const double angle = geometry::angleBetween(row, control);
    if (std::isnan(angle)) continue;
    random_.add(angle);
    randomAngles_.add(angle);
  }
  if (question_.takesMean) addBare(row, bare_);
  if (question_.swap == nullptr) return;
  const double error = swapError(row, *question_.swap);
  worst_ = std::max(worst_, error);
  swap_.add(error);
}

InputGeometry InputSums::take() const {
  InputGeometry geometry;
  geometry.width = width_;
  geometry.side = side_.take();
  geometry.randomDeg = random_.spread();
  geometry.randomAngles = randomAngles_.take();
  geometry.bareDeg = question_.takesMean ? bare_.spread() : geometry.side.angleDeg;
  if (const double mean = swap_.spread().mean; !std::isnan(mean)) geometry.swap = SwapError{worst_, mean};
  return geometry;
}

std::vector<std::vector<double>> controlVectors(int64_t width, uint64_t seed) {
  constexpr int64_t kVectors = 2;
  formats::InputSpec spec;
  spec.dtype = graph::DType::Float64;
  spec.shape = {kVectors, width};
  std::vector<std::vector<double>> vectors;
  const auto drawn = drawInputs({spec}, seed);
  if (!drawn) return vectors;  // wider than a tensor may be
  const auto keep = [&](std::span<const double> row) { vectors.emplace_back(row.begin(), row.end()); };
  static_cast<void>(forEachRow(drawn->front().view, {1}, keep));
  return vectors;
}

double expectedSpreadDeg(int64_t width) {
  return 180 / std::numbers::pi / std::sqrt(static_cast<double>(std::max<int64_t>(1, width)));
}

}  // namespace normlens::run
