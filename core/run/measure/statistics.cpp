#include "core/run/measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace normlens::run {

double percentile(std::vector<double> values, double p) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::ranges::sort(values);
  const double place = std::clamp(p, 0.0, 100.0) / 100 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

double median(std::vector<double> values) { return percentile(std::move(values), 50); }

LatencyStats summarize(const std::vector<double>& milliseconds) {
  if (milliseconds.empty()) return {};
  const double sum = std::accumulate(milliseconds.begin(), milliseconds.end(), 0.0);
  return {.medianMs = median(milliseconds),
          .meanMs = sum / static_cast<double>(milliseconds.size()),
          .p5Ms = percentile(milliseconds, 5),
          .p95Ms = percentile(milliseconds, 95),
          .p99Ms = percentile(milliseconds, 99)};
}

Speedup bootstrapSpeedup(const std::vector<double>& ratios, uint64_t seed, int resamples) {
  Speedup speedup;
  if (ratios.empty()) return speedup;
  speedup.median = median(ratios);
  speedup.low = 0;
  speedup.high = std::numeric_limits<double>::infinity();
  if (ratios.size() < 2) return speedup;
  std::mt19937_64 engine(seed);
  std::vector<double> medians, drawn(ratios.size());
  for (int i = 0; i < resamples; ++i) {
    for (double& value : drawn) value = ratios[engine() % ratios.size()];
    medians.push_back(median(drawn));
  }
  speedup.low = percentile(medians, 2.5);
  speedup.high = percentile(medians, 97.5);
  speedup.noise = speedup.low <= 1 && 1 <= speedup.high;
  return speedup;
}

}  // namespace normlens::run
