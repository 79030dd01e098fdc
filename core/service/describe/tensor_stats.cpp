#include "core/service/describe/tensor_stats.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "core/run/tensor_parts.h"

namespace normlens::service {
namespace {

constexpr int64_t kMostMeans = 256;
constexpr int kBins = 64;
constexpr int64_t kHeatRows = 32, kHeatColumns = 96;

// Calls visit(number) for every element in row-major order.
template <class Visit>
Status forEachNumber(const graph::TensorView& view, const Task& task, double progress, Visit visit) {
  const double count = static_cast<double>(std::max<int64_t>(1, graph::elementCount(view.shape).value_or(1)));
  return run::forEachPart(view, run::kPartElements, [&](int64_t first, const graph::TensorView& part) -> Status {
    task.report("reading the tensor", progress + static_cast<double>(first) / count / 2);
    RETURN_IF_ERROR(task.check());
    const auto numbers = graph::toDoubles(part);
    if (!numbers) {
      return fail(ErrorCode::Unsupported,
                  "the elements of a tensor of type " + std::string(dtypeName(view.dtype)) + " are no real numbers");
    }
    for (const double number : *numbers) visit(number);
    return {};
  });
}

// Returns the number that storing makes of this one.
double rounded(double value, graph::DType dtype) {
  switch (dtype) {
    case graph::DType::Float32:
      return static_cast<float>(value);
    case graph::DType::Float16:
      return graph::halfToFloat(graph::floatToHalf(static_cast<float>(value)));
    case graph::DType::BFloat16:
      return graph::bfloat16ToFloat(graph::floatToBfloat16(static_cast<float>(value)));
    default:
      return value;
  }
}

// The group of a pattern in which each element lies, element by element in row-major order. Groups are numbered by
// their kept factors, outermost first.
class GroupWalk {
 public:
  explicit GroupWalk(const ops::Pattern& pattern) {
    int64_t stride = 1;
    for (size_t f = pattern.factors.size(); f-- > 0;) {
      const auto& factor = pattern.factors[f];
      axes_.push_back({factor, factor.summed ? 0 : stride, 0});
      if (!factor.summed) stride *= factor.extent();
    }
    groups_ = stride;
  }

  [[nodiscard]] int64_t groups() const { return groups_; }

  // Returns the group of the next element; -1: outside the pattern's region.
  int64_t next() {
    int64_t group = 0;
    for (const GroupAxis& axis : axes_) {
      if (axis.at < axis.factor.begin || axis.at >= axis.factor.end) group = -1;
      if (group < 0) break;
      group += (axis.at - axis.factor.begin) * axis.stride;
    }
    for (GroupAxis& axis : axes_) {
      if (++axis.at < axis.factor.size) break;
      axis.at = 0;
    }
    return group;
  }

 private:
  struct GroupAxis {
    ops::Factor factor;
    int64_t stride;  // in groups; 0 where the factor is summed
    int64_t at;
  };
  std::vector<GroupAxis> axes_;  // innermost first
  int64_t groups_ = 1;
};

// The elements as a matrix (axis 0 down, all others across) in cells of nearly equal size, element by element.
class HeatGrid {
 public:
  explicit HeatGrid(const graph::Shape& shape) {
    const int64_t count = graph::elementCount(shape).value_or(0);
    height_ = shape.size() < 2 || count == 0 ? 1 : shape.front();
    width_ = count / height_;
    rows_ = std::min(height_, kHeatRows);
    columns_ = std::min(width_, kHeatColumns);
  }
  // Returns the cell of the next element.
  size_t next() {
    const int64_t cell = down_ * columns_ + column_ * columns_ / width_;
    if (++column_ == width_) {
      column_ = 0;
      down_ = ++row_ * rows_ / height_;
    }
    return static_cast<size_t>(cell);
  }
  [[nodiscard]] int rows() const { return static_cast<int>(rows_); }
  [[nodiscard]] int columns() const { return static_cast<int>(columns_); }
  [[nodiscard]] size_t cells() const { return static_cast<size_t>(rows_ * columns_); }

 private:
  int64_t height_, width_, rows_, columns_;
  int64_t row_ = 0, column_ = 0;
  int64_t down_ = 0;  // of the cells that the row lies in
};

// Figures, histogram and heat map, filled element by element.
class Picture {
 public:
  Picture(size_t cells, double low, double high)
      : low_(low), scale_(high > low ? kBins / (high - low) : 0), sums_(cells), counts_(cells) {
    figures_.histogram.resize(kBins);
    figures_.min = std::numeric_limits<double>::infinity();
    figures_.max = -figures_.min;
  }

  void add(size_t cell, double x) {
    figures_.min = std::min(figures_.min, x);
    figures_.max = std::max(figures_.max, x);
    sum_ += x;
    squares_ += x * x;
    ++figures_
          .histogram[static_cast<size_t>(std::clamp<int64_t>(static_cast<int64_t>((x - low_) * scale_), 0, kBins - 1))];
    sums_[cell] += x;
    ++counts_[cell];
  }
  // Precondition: something was added.
  [[nodiscard]] protocol::TensorFigures figures() const {
    protocol::TensorFigures figures = figures_;
    const auto count = static_cast<double>(std::accumulate(counts_.begin(), counts_.end(), int64_t{0}));
    figures.mean = sum_ / count;
    figures.deviation = std::sqrt(std::max(0.0, squares_ / count - figures.mean * figures.mean));
    for (size_t i = 0; i < sums_.size(); ++i) {
      figures.heat.push_back(counts_[i] > 0 ? sums_[i] / static_cast<double>(counts_[i]) : 0);
    }
    return figures;
  }

 private:
  double low_, scale_;
  double sum_ = 0, squares_ = 0;
  protocol::TensorFigures figures_;
  std::vector<double> sums_;
  std::vector<int64_t> counts_;
};

double largest(const std::vector<double>& means) {
  double most = 0;
  for (const double mean : means) most = std::max(most, std::abs(mean));
  return most;
}

std::vector<double> picked(const std::vector<double>& means) {
  const auto all = static_cast<int64_t>(means.size());
  const int64_t shown = std::min(all, kMostMeans);
  std::vector<double> some;
  for (int64_t i = 0; i < shown; ++i) some.push_back(means[static_cast<size_t>(i * all / shown)]);
  return some;
}

// The means of the groups that centering subtracts, and the range of the numbers before it.
struct FirstLook {
  std::vector<double> means;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  int64_t notFinite = 0;

  [[nodiscard]] bool empty() const { return low > high; }
};

Result<FirstLook> firstLook(const graph::TensorView& view, const ops::Pattern* centered, const Task& task) {
  FirstLook look;
  std::optional<GroupWalk> walk;
  if (centered != nullptr) walk.emplace(*centered);
  if (walk) look.means.assign(static_cast<size_t>(walk->groups()), 0);
  RETURN_IF_ERROR(forEachNumber(view, task, 0, [&](double x) {
    const int64_t group = walk ? walk->next() : -1;
    if (group >= 0) look.means[static_cast<size_t>(group)] += x;
    if (!std::isfinite(x)) {
      ++look.notFinite;
      return;
    }
    look.low = std::min(look.low, x);
    look.high = std::max(look.high, x);
  }));
  if (walk) {
    for (double& mean : look.means) mean /= static_cast<double>(centered->groupSize());
  }
  return look;
}

}  // namespace

Result<protocol::TensorStats> tensorStats(const graph::Constant& constant, const ops::Pattern* centered,
                                          const Task& task) {
  const auto& view = constant.view;
  ASSIGN_OR_RETURN(const auto look, firstLook(view, centered, task));
  HeatGrid grid(view.shape);
  protocol::TensorStats stats;
  stats.name = constant.name;
  stats.dtype = dtypeName(view.dtype);
  stats.shape = view.shape;
  stats.not_finite = look.notFinite;
  stats.heat_rows = grid.rows();
  stats.heat_columns = grid.columns();
  if (look.empty()) return stats;
  stats.low = look.low;
  stats.high = look.high;
  if (centered != nullptr) {
    // One axis for both histograms, so that they can be compared.
    const auto [least, most] = std::minmax_element(look.means.begin(), look.means.end());
    stats.low = std::min(stats.low, look.low - std::max(0.0, *most));
    stats.high = std::max(stats.high, look.high - std::min(0.0, *least));
  }
  Picture before(grid.cells(), stats.low, stats.high), after(grid.cells(), stats.low, stats.high);
  std::optional<GroupWalk> walk;
  if (centered != nullptr) walk.emplace(*centered);
  std::vector<double> left(look.means.size());
  RETURN_IF_ERROR(forEachNumber(view, task, 0.5, [&](double x) {
    const size_t cell = grid.next();
    const int64_t group = walk ? walk->next() : -1;
    if (!std::isfinite(x)) return;
    before.add(cell, x);
    if (!walk) return;
    const double y = group >= 0 ? rounded(x - look.means[static_cast<size_t>(group)], view.dtype) : x;
    after.add(cell, y);
    if (group >= 0) left[static_cast<size_t>(group)] += y;
  }));
  stats.before = before.figures();
  if (centered == nullptr) return stats;
  for (double& mean : left) mean /= static_cast<double>(centered->groupSize());
  stats.column_means = picked(look.means);
  stats.before.largest_column_mean = largest(look.means);
  stats.after = after.figures();
  stats.after->largest_column_mean = largest(left);
  return stats;
}

}  // namespace normlens::service
