// Compares two tensors of one shape whose elements come one after another in row-major order: detects whether one is
// the other less its means along an axis, or along equal parts of it. Thread: value types.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace normlens::service {

// An axis, or equal parts of it, and what follows it; the place there of elements that come in row-major order.
class AxisWalk {
 public:
  AxisWalk(int axis, int64_t size, int64_t inner) : axis_(axis), size_(size), inner_(static_cast<size_t>(inner)) {}

  [[nodiscard]] int axis() const { return axis_; }
  [[nodiscard]] int64_t size() const { return size_; }
  [[nodiscard]] size_t inner() const { return inner_; }
  [[nodiscard]] int64_t along() const { return along_; }  // the place on the axis
  [[nodiscard]] size_t at() const { return at_; }         // among the places that follow it
  [[nodiscard]] bool isLast() const { return along_ == size_ - 1; }
  [[nodiscard]] AxisWalk parts(int64_t size) const { return {axis_, size, static_cast<int64_t>(inner_)}; }

  void next() {
    if (++at_ < inner_) return;
    at_ = 0;
    along_ = isLast() ? 0 : along_ + 1;
  }

 private:
  int axis_;
  int64_t size_, along_ = 0;
  size_t inner_, at_ = 0;
};

// Checks whether b is a less its means along the axis: then they differ by the same everywhere along it, and b has no
// mean left where they differ.
class MeansLook {
 public:
  explicit MeansLook(const AxisWalk& walk) : walk_(walk), first_(walk.inner()), sums_(walk.inner()) {}

  void include(double a, double b) {
    const double difference = a - b;
    double &first = first_[walk_.at()], &sum = sums_[walk_.at()];
    if (walk_.along() == 0) {
      first = difference;
      sum = 0;
    }
    sum += b;
    uneven_ = std::max(uneven_, std::abs(difference - first));
    if (walk_.isLast() && first != 0) left_ = std::max(left_, std::abs(sum) / static_cast<double>(walk_.size()));
    walk_.next();
  }

  [[nodiscard]] const AxisWalk& walk() const { return walk_; }
  [[nodiscard]] bool isCentered(double rounding) const { return uneven_ <= 2 * rounding && left_ <= rounding; }

 private:
  AxisWalk walk_;
  std::vector<double> first_, sums_;
  double uneven_ = 0, left_ = 0;
};

// Finds the length of the equal parts of the axis within which a and b differ by the same: heads, groups.
class PartsLook {
 public:
  PartsLook(const AxisWalk& walk, double rounding)
      : walk_(walk), rounding_(rounding), part_(walk.size()), before_(walk.inner()) {}

  void include(double a, double b) {
    const double difference = a - b, before = std::exchange(before_[walk_.at()], difference);
    const bool border = walk_.along() > 0 && !(std::abs(difference - before) <= 2 * rounding_);
    if (border && part_ > 1) part_ = std::gcd(part_, walk_.along());
    walk_.next();
  }

  [[nodiscard]] bool isDone() const { return part_ == 1; }
  void addTo(std::vector<MeansLook>& looks) const {
    if (part_ > 1 && part_ < walk_.size()) looks.emplace_back(walk_.parts(part_));
  }

 private:
  AxisWalk walk_;
  double rounding_;
  int64_t part_;
  std::vector<double> before_;
};

}  // namespace normlens::service
