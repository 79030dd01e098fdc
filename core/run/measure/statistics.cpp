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

RoundMedians medianOver(const std::vector<RoundMedians>& rounds) {
  std::vector<double> a, b;
  for (const RoundMedians& round : rounds) {
    a.push_back(round.aMs);
    b.push_back(round.bMs);
  }
  return {median(std::move(a)), median(std::move(b))};
}

namespace {

struct Estimate {
  double value = 0, low = 0, high = 0;
};

// Estimates what `of` makes of the medians over rounds. Needs two rounds.
template <class Of>
Estimate bootstrap(const std::vector<RoundMedians>& rounds, uint64_t seed, int resamples, const Of& of) {
  std::mt19937_64 engine(seed);
  std::vector<double> values;
  std::vector<RoundMedians> drawn(rounds.size());
  for (int i = 0; i < resamples; ++i) {
    for (RoundMedians& round : drawn) round = rounds[engine() % rounds.size()];
    values.push_back(of(medianOver(drawn)));
  }
  const double value = of(medianOver(rounds));
  return {value, std::min(percentile(values, 2.5), value), std::max(percentile(values, 97.5), value)};
}

}  // namespace

Speedup bootstrapSpeedup(const std::vector<RoundMedians>& rounds, uint64_t seed, int resamples) {
  Speedup speedup;
  if (rounds.empty()) return speedup;
  const auto ratioOf = [](const RoundMedians& medians) { return medians.aMs / medians.bMs; };
  speedup.ratio = ratioOf(medianOver(rounds));
  speedup.low = 0;
  speedup.high = std::numeric_limits<double>::infinity();
  if (rounds.size() < 2) return speedup;
  const Estimate estimate = bootstrap(rounds, seed, resamples, ratioOf);
  speedup.low = estimate.low;
  speedup.high = estimate.high;
  speedup.noise = speedup.low <= 1 && 1 <= speedup.high;
  return speedup;
}

TimeDifference bootstrapDifference(const std::vector<RoundMedians>& rounds, uint64_t seed, int resamples) {
  if (rounds.empty()) return {};
  const auto differenceOf = [](const RoundMedians& medians) { return medians.aMs - medians.bMs; };
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  if (rounds.size() < 2) return {differenceOf(medianOver(rounds)), -kUnknown, kUnknown};
  const Estimate estimate = bootstrap(rounds, seed, resamples, differenceOf);
  return {estimate.value, estimate.low, estimate.high};
}

}  // namespace normlens::run
