// Times of the ops of one point, taken in turn so that a drift of the clock hits all alike.
#pragma once

#include <string>
#include <vector>

#include "core/base/machine.h"
#include "tests/bench/norms/norm_ops.h"

namespace normlens::bench {

struct OpTime {
  std::string op;
  double ms = 0;      // median of one call, on the device
  double hostMs = 0;  // of a GPU: how long the host takes for one call, that waits for nothing
  double spread = 0;  // between the quartiles of the rounds, as a share of the median
  int64_t bytes = 0;
  int64_t calls = 0;  // that were timed

  [[nodiscard]] double gigabytesPerSecond() const { return static_cast<double>(bytes) / ms / 1e6; }
};

struct PointTimes {
  NormPoint point;
  int threads = 0;
  ClockRates before, after;
  std::vector<OpTime> ops;

  [[nodiscard]] const OpTime& of(const std::string& op) const;
  // The copy took now this long, now that: something else was using the machine, and the ratios mean little.
  [[nodiscard]] bool unsteady() const;
  [[nodiscard]] double ratio(const std::string& op, const std::string& to) const { return of(op).ms / of(to).ms; }
};

// On a GPU a long copy is queued before each measurement, so that the calls wait for the GPU and not the GPU for them.
[[nodiscard]] PointTimes timePoint(const NormPoint& point, int rounds, const ClockReader& clocks);

}  // namespace normlens::bench
