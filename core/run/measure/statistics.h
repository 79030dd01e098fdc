// Order statistics and a bootstrap, for measurements. Thread: pure functions, deterministic by seed.
#pragma once

#include <cstdint>
#include <vector>

namespace normlens::run {

// Linear interpolation between order statistics; p in [0, 100]. NaN for no values.
[[nodiscard]] double percentile(std::vector<double> values, double p);
[[nodiscard]] double median(std::vector<double> values);

struct LatencyStats {
  double medianMs = 0, meanMs = 0, p5Ms = 0, p95Ms = 0, p99Ms = 0;
};
[[nodiscard]] LatencyStats summarize(const std::vector<double>& milliseconds);

// RoundMedians are of one round, in which both models are run in turns.
struct RoundMedians {
  double aMs = 0, bMs = 0;  // bMs: 0 without a second model
};
// Returns the median of each side: the one figure that is reported of a measurement.
[[nodiscard]] RoundMedians medianOver(const std::vector<RoundMedians>& rounds);
struct Speedup {
  double ratio = 1;          // The median over rounds of a by that of b: above 1, b is faster.
  double low = 1, high = 1;  // its 95% confidence interval
  bool noise = true;         // the interval holds 1: no difference was measured
};
// Percentile bootstrap over rounds, each drawn with both its sides. Fewer than 2: the interval is unknown, [0, inf].
[[nodiscard]] Speedup bootstrapSpeedup(const std::vector<RoundMedians>& rounds, uint64_t seed, int resamples = 4000);

// By how much a's median over rounds is above b's, with its 95% confidence interval by the same bootstrap. Fewer than 2
// rounds: the interval is unknown, [-inf, inf].
struct TimeDifference {
  double ms = 0, lowMs = 0, highMs = 0;
};
[[nodiscard]] TimeDifference bootstrapDifference(const std::vector<RoundMedians>& rounds, uint64_t seed,
                                                 int resamples = 4000);

}  // namespace normlens::run
