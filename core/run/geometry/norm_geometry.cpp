#include "core/run/geometry/norm_geometry.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "core/base/geometry/norm_formulas.h"
#include "core/run/geometry/row_reader.h"
#include "core/run/inputs/draw.h"

namespace normlens::run {
namespace {

// Running works Welford's way: one pass, and no digits lost to a large mean.
class Running {
 public:
  void add(double value) {
    ++count_;
    const double before = value - mean_;
    mean_ += before / static_cast<double>(count_);
    squares_ += before * (value - mean_);
  }
  [[nodiscard]] Spread spread() const {
    if (count_ == 0) return {};
    return {mean_, std::sqrt(squares_ / static_cast<double>(count_))};
  }

 private:
  int64_t count_ = 0;
  double mean_ = 0, squares_ = 0;
};

class SideSums {
 public:
  // False: the row takes no part.
  bool add(std::span<const double> row) {
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
  [[nodiscard]] SideGeometry take() const {
    SideGeometry side = side_;
    side.angleDeg = angle_.spread();
    side.length = length_.spread();
    side.meanShare = share_.spread();
    side.angles = angles_.take();
    return side;
  }

 private:
  SideGeometry side_;
  Running angle_, length_, share_;
  AngleTally angles_;
};

// Leaves out a vector along 1: only rounding is left of it, which has no angle.
void addBare(std::span<const double> row, Running& bare) {
  constexpr double kRounding = 1e-12;
  if (1 - geometry::geometryOf(row).meanShare > kRounding)
    bare.add(geometry::geometryOf(geometry::layerNormOf(row)).angleDeg);
}

}  // namespace

Result<SideGeometry> sideGeometry(const graph::TensorView& view, const std::vector<int64_t>& axes) {
  SideSums sums;
  const Status read = forEachRow(view, axes, [&](std::span<const double> row) { sums.add(row); });
  if (!read) return tl::unexpected(read.error());
  return sums.take();
}

Result<InputGeometry> inputGeometry(const graph::TensorView& view, const InputQuestion& question) {
  InputGeometry geometry;
  SideSums sums;
  Running random, swap, bare;
  AngleTally randomAngles;
  double worst = 0;
  std::vector<std::vector<double>> controls;
  const Status read = forEachRow(view, question.axes, [&](std::span<const double> row) {
    geometry.width = static_cast<int64_t>(row.size());
    if (controls.empty()) controls = controlVectors(geometry.width, question.seed);
    if (!sums.add(row)) return;
    for (const auto& control : controls) {
      const double angle = geometry::angleBetween(row, control);
      if (std::isnan(angle)) continue;
      random.add(angle);
      randomAngles.add(angle);
    }
    if (question.takesMean) addBare(row, bare);
    if (question.swap == nullptr) return;
    const double error = swapError(row, *question.swap);
    worst = std::max(worst, error);
    swap.add(error);
  });
  if (!read) return tl::unexpected(read.error());
  geometry.side = sums.take();
  geometry.randomDeg = random.spread();
  geometry.randomAngles = randomAngles.take();
  geometry.bareDeg = question.takesMean ? bare.spread() : geometry.side.angleDeg;
  if (const double mean = swap.spread().mean; !std::isnan(mean)) geometry.swap = SwapError{worst, mean};
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
