#include "core/service/describe/weight_changes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "core/run/compare/tensor_parts.h"
#include "core/run/compare/ulp.h"
#include "core/run/tensors.h"
#include "core/service/describe/graph_document.h"

namespace normlens::service {
namespace {

using graph::TensorView;

// Of a mean that is looked for, places whose sums are kept at a time.
constexpr int64_t kMostSums = int64_t{1} << 20;

// Elements [first, first + count) in row-major order; nullopt: they are no real numbers.
std::optional<std::vector<double>> numbersAt(const TensorView& view, int64_t first, int64_t count) {
  const auto bytes = static_cast<int64_t>(graph::dtypeBytes(view.dtype));
  if (view.contiguous()) {
    return graph::toDoubles({view.data + first * bytes, view.dtype, {count}, {1}, view.owner});
  }
  std::vector<double> numbers;
  while (count > 0) {
    const auto index = run::indexOf(first, view.shape);
    const int64_t offset = std::inner_product(index.begin(), index.end(), view.strides.begin(), int64_t{0});
    const int64_t length = std::min(count, view.shape.back() - index.back());
    const auto row =
        graph::toDoubles({view.data + offset * bytes, view.dtype, {length}, {view.strides.back()}, view.owner});
    if (!row) return std::nullopt;
    numbers.insert(numbers.end(), row->begin(), row->end());
    first += length;
    count -= length;
  }
  return numbers;
}

// Whether b is a less its means along one axis: then they differ by the same everywhere along it, and b has no mean
// left there. Takes the elements one after another in row-major order.
class AxisLook {
 public:
  AxisLook(int axis, int64_t size, int64_t inner)
      : axis_(axis), size_(size), first_(static_cast<size_t>(inner)), sums_(first_.size()) {}

  void include(double a, double b) {
    const double difference = a - b;
    if (along_ == 0) {
      first_[at_] = difference;
      sums_[at_] = 0;
    }
    sums_[at_] += b;
    uneven_ = std::max(uneven_, std::abs(difference - first_[at_]));
    if (along_ == size_ - 1) left_ = std::max(left_, std::abs(sums_[at_]) / static_cast<double>(size_));
    if (++at_ < first_.size()) return;
    at_ = 0;
    along_ = along_ + 1 == size_ ? 0 : along_ + 1;
  }

  [[nodiscard]] int axis() const { return axis_; }
  [[nodiscard]] bool isCentered(double rounding) const { return uneven_ <= 2 * rounding && left_ <= rounding; }

 private:
  int axis_;
  int64_t size_, along_ = 0;  // of the axis, and the place on it
  size_t at_ = 0;             // among the places that follow the axis
  std::vector<double> first_, sums_;
  double uneven_ = 0, left_ = 0;
};

// Integers are not centered, and an axis of size 1 has nothing but means.
std::vector<AxisLook> axesOf(const graph::Shape& shape, bool floats) {
  std::vector<AxisLook> looks;
  int64_t inner = 1;
  for (size_t axis = shape.size(); floats && axis-- > 0; inner *= shape[axis]) {
    if (shape[axis] > 1 && inner <= kMostSums) looks.emplace_back(static_cast<int>(axis), shape[axis], inner);
  }
  return looks;
}

bool sameSpecial(double a, double b) { return (std::isnan(a) && std::isnan(b)) || (std::isinf(a) && a == b); }

protocol::WeightChange without(std::string reason) {
  protocol::WeightChange change;
  change.reason = std::move(reason);
  return change;
}

Result<protocol::WeightChange> changeOf(const TensorView& a, const TensorView& b, const Task& task) {
  if (a.shape != b.shape) return without("they have different shapes");
  const auto count = graph::elementCount(a.shape);
  if (!count || a.data == nullptr || b.data == nullptr) return without("their elements are not known");
  const graph::DType type = run::coarserType(a.dtype, b.dtype);
  auto axes = axesOf(a.shape, type != graph::DType::Unknown);
  protocol::WeightChange change;
  for (int64_t first = 0; first < *count; first += run::kPartElements) {
    if (auto status = task.check(); !status) return tl::unexpected(status.error());
    const int64_t length = std::min(run::kPartElements, *count - first);
    const auto ours = numbersAt(a, first, length), theirs = numbersAt(b, first, length);
    if (!ours || !theirs) return without("their elements are no real numbers");
    for (size_t i = 0; i < ours->size(); ++i) {
      const double x = (*ours)[i], y = (*theirs)[i];
      for (AxisLook& axis : axes) axis.include(x, y);
      if (std::isfinite(x)) change.max_original = std::max(change.max_original, std::abs(x));
      if (sameSpecial(x, y)) continue;
      const double apart = std::abs(x - y);
      change.max_abs = std::max(change.max_abs, std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart);
    }
  }
  if (change.max_abs == 0 || !std::isfinite(change.max_abs)) return change;
  const double rounding = 2 * run::machineEpsilon(type) * change.max_original;
  const auto centered = std::ranges::find_if(axes, [&](const AxisLook& axis) { return axis.isCentered(rounding); });
  if (centered != axes.end()) change.centered_axis = centered->axis();
  return change;
}

}  // namespace

Result<protocol::WeightChanges> weightChanges(const graph::Graph& a, const graph::Graph& b,
                                              const std::vector<std::pair<int, int>>& pairs, const Task& task) {
  protocol::WeightChanges told;
  for (const auto& [ours, theirs] : pairs) {
    task.report("comparing the weights", static_cast<double>(told.changes.size()) / static_cast<double>(pairs.size()));
    const auto before = constantOf(a, ours), after = constantOf(b, theirs);
    if (!before) return tl::unexpected(before.error());
    if (!after) return tl::unexpected(after.error());
    auto change = changeOf(a.constant(*before).view, b.constant(*after).view, task);
    if (!change) return tl::unexpected(change.error());
    told.changes.push_back(std::move(*change));
  }
  return told;
}

}  // namespace normlens::service
