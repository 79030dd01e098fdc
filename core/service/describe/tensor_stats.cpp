#include "core/service/describe/tensor_stats.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "core/run/compare/tensor_parts.h"
#include "core/service/group_walk.h"

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
    if (auto status = task.check(); !status) return status;
    const auto numbers = graph::toDoubles(part);
    if (!numbers) {
      return fail(ErrorCode::Unsupported,
                  "the elements of a tensor of type " + std::string(dtypeName(view.dtype)) + " are no real numbers");
    }
    for (const double number : *numbers) visit(number);
    return {};
  });
}

// What a number becomes when it is stored.
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

class Moments {
 public:
  void add(double x) {
    low_ = std::min(low_, x);
    high_ = std::max(high_, x);
    sum_ += x;
    squares_ += x * x;
    ++count_;
  }
  void into(protocol::TensorFigures& figures) const {
    if (count_ == 0) return;
    const auto count = static_cast<double>(count_);
    figures.min = low_;
    figures.max = high_;
    figures.mean = sum_ / count;
    figures.deviation = std::sqrt(std::max(0.0, squares_ / count - figures.mean * figures.mean));
  }

 private:
  double low_ = std::numeric_limits<double>::infinity(), high_ = -low_;
  double sum_ = 0, squares_ = 0;
  int64_t count_ = 0;
};

// Which of `cells` nearly equal parts of `size` places a place lies in, place by place and round again.
class CellWalk {
 public:
  CellWalk(int64_t size, int64_t cells) : size_(size), cells_(cells) {}
  [[nodiscard]] int64_t cell() const { return cell_; }
  // True when it begins anew.
  bool advance() {
    share_ += cells_;
    while (share_ >= size_) {
      share_ -= size_;
      ++cell_;
    }
    if (++at_ < size_) return false;
    at_ = cell_ = share_ = 0;
    return true;
  }

 private:
  int64_t size_, cells_, at_ = 0, cell_ = 0, share_ = 0;
};

// The elements as a matrix (axis 0 down, all others across) in cells of nearly equal size, element by element.
class HeatGrid {
 public:
  explicit HeatGrid(const graph::Shape& shape) {
    const int64_t count = graph::elementCount(shape).value_or(0);
    const int64_t rows = shape.size() < 2 || count == 0 ? 1 : shape.front();
    const int64_t columns = count / rows;
    rows_ = std::min(rows, kHeatRows);
    columns_ = std::min(columns, kHeatColumns);
    down_ = CellWalk(rows, rows_);
    across_ = CellWalk(columns, columns_);
  }
  // The cell of the next element.
  size_t next() {
    const int64_t cell = down_.cell() * columns_ + across_.cell();
    if (across_.advance()) down_.advance();
    return static_cast<size_t>(cell);
  }
  [[nodiscard]] int rows() const { return static_cast<int>(rows_); }
  [[nodiscard]] int columns() const { return static_cast<int>(columns_); }
  [[nodiscard]] size_t cells() const { return static_cast<size_t>(rows_ * columns_); }

 private:
  int64_t rows_ = 1, columns_ = 0;
  CellWalk down_{1, 1}, across_{1, 1};
};

// Histogram and heat map, filled element by element.
class Picture {
 public:
  Picture(size_t cells, double low, double high)
      : low_(low), scale_(high > low ? kBins / (high - low) : 0), bins_(kBins), sums_(cells), counts_(cells) {}

  void add(size_t cell, double x) {
    moments_.add(x);
    ++bins_[static_cast<size_t>(std::clamp<int64_t>(static_cast<int64_t>((x - low_) * scale_), 0, kBins - 1))];
    sums_[cell] += x;
    ++counts_[cell];
  }
  [[nodiscard]] protocol::TensorFigures figures() const {
    protocol::TensorFigures figures;
    moments_.into(figures);
    figures.histogram = bins_;
    for (size_t i = 0; i < sums_.size(); ++i) {
      figures.heat.push_back(counts_[i] > 0 ? sums_[i] / static_cast<double>(counts_[i]) : 0);
    }
    return figures;
  }

 private:
  double low_, scale_;
  Moments moments_;
  std::vector<int64_t> bins_;
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
  const auto status = forEachNumber(view, task, 0, [&](double x) {
    const int64_t group = walk ? walk->next() : -1;
    if (group >= 0) look.means[static_cast<size_t>(group)] += x;
    if (!std::isfinite(x)) {
      ++look.notFinite;
      return;
    }
    look.low = std::min(look.low, x);
    look.high = std::max(look.high, x);
  });
  if (!status) return tl::unexpected(status.error());
  if (walk) {
    for (double& mean : look.means) mean /= static_cast<double>(centered->groupSize());
  }
  return look;
}

}  // namespace

Result<protocol::TensorStats> tensorStats(const graph::Constant& constant, const ops::Pattern* centered,
                                          const Task& task) {
  const auto& view = constant.view;
  const auto look = firstLook(view, centered, task);
  if (!look) return tl::unexpected(look.error());
  HeatGrid grid(view.shape);
  protocol::TensorStats stats;
  stats.name = constant.name;
  stats.dtype = dtypeName(view.dtype);
  stats.shape = view.shape;
  stats.not_finite = look->notFinite;
  stats.heat_rows = grid.rows();
  stats.heat_columns = grid.columns();
  if (look->empty()) return stats;
  stats.low = look->low;
  stats.high = look->high;
  if (centered != nullptr) {
    // One axis for both histograms, so that they can be compared.
    const auto [least, most] = std::minmax_element(look->means.begin(), look->means.end());
    stats.low = std::min(stats.low, look->low - std::max(0.0, *most));
    stats.high = std::max(stats.high, look->high - std::min(0.0, *least));
  }
  Picture before(grid.cells(), stats.low, stats.high), after(grid.cells(), stats.low, stats.high);
  std::optional<GroupWalk> walk;
  if (centered != nullptr) walk.emplace(*centered);
  std::vector<double> left(look->means.size());
  const auto status = forEachNumber(view, task, 0.5, [&](double x) {
    const size_t cell = grid.next();
    const int64_t group = walk ? walk->next() : -1;
    if (!std::isfinite(x)) return;
    before.add(cell, x);
    if (!walk) return;
    const double y = group >= 0 ? rounded(x - look->means[static_cast<size_t>(group)], view.dtype) : x;
    after.add(cell, y);
    if (group >= 0) left[static_cast<size_t>(group)] += y;
  });
  if (!status) return tl::unexpected(status.error());
  stats.before = before.figures();
  if (centered == nullptr) return stats;
  for (double& mean : left) mean /= static_cast<double>(centered->groupSize());
  stats.column_means = picked(look->means);
  stats.before.largest_column_mean = largest(look->means);
  stats.after = after.figures();
  stats.after->largest_column_mean = largest(left);
  return stats;
}

}  // namespace normlens::service
