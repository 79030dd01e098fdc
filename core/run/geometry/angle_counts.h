// Angles of many rows, counted: a small histogram that is made in one pass. Thread: value types.
#pragma once

#include <cstdint>
#include <vector>

namespace normlens::run {

// counts[i] rows have an angle from low + i * step on, up to the next; degrees. 90 lies in the middle of a step.
struct AngleCounts {
  double low = 0, step = 0;
  std::vector<int64_t> counts;
};

class AngleTally {
 public:
  AngleTally();
  void add(double angleDeg);  // in [0, 180]
  // Returns counts from the first step that has a row to the last, at most 64 steps: where there are more, several are
  // one. Empty where nothing was added.
  [[nodiscard]] AngleCounts take() const;

 private:
  std::vector<int64_t> fine_;
};

}  // namespace normlens::run
