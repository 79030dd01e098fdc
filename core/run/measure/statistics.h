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

struct Speedup {
  double median = 1;         // of a/b, one ratio per round: above 1, b is faster
  double low = 1, high = 1;  // 95% confidence interval of the median
  bool noise = true;         // the interval holds 1: no difference was measured
};
// Percentile bootstrap of the median over rounds. Fewer than 2 ratios: the interval is unknown, [0, inf].
[[nodiscard]] Speedup bootstrapSpeedup(const std::vector<double>& ratios, uint64_t seed, int resamples = 4000);

}  // namespace normlens::run
