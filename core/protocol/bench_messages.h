// Messages of measurements: two models side by side, over a sweep. See messages.h for the rules.
// Times in milliseconds unless the name has another unit, sizes in bytes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/protocol/field_list.h"

namespace normlens::protocol {

// ---- bench: BenchParams -> BenchResult. Interleaved rounds A B B A; "$/bench" reports what is known after each round.
// Cancelled, what was reported stays true: the window keeps it.
//
// A side is named "original" (the open model), "folded" (its last fold), "folded:fast" (that plan in a norm flavour),
// "fused" (the open model with its adds and norms fused, nothing folded) or by the path of a model, which is given the
// open model's inputs.
struct BenchParams {
  std::string a = "original";
  std::string b = "folded";  // empty: A alone
  int rounds = 20;
  int iterations = 5;              // runs in each of the four parts of a round
  int warmup = -1;                 // runs before; -1: until two windows of runs agree
  std::vector<std::string> sweep;  // "batch=1,2,4", "dtype=float32,bfloat16", "device=cpu,cuda", "norm=portable,fast"
  std::string device = "cpu";      // cpu, cuda, cuda:1
  std::string dtype;               // The weights' and float inputs'; empty: as in the file.
  int threads = 0;                 // One op uses as many; 0: the runtime's choice.
  bool cuda_graph = false;         // on CUDA: a pass is recorded once and replayed
  // Rounds end early once the 95% interval of the speed-up is within so many percent of it; 0: after `rounds`.
  double until_percent = 0;
};
NORMLENS_FIELDS(BenchParams, a, b, rounds, iterations, warmup, sweep, device, dtype, threads, cuda_graph, until_percent)

// Returns the flavour in a side's name: "fast" of "folded:fast", empty for "folded"; nullopt: it is no fold.
[[nodiscard]] inline std::optional<std::string> flavourOfFold(std::string_view side) {
  constexpr std::string_view kFolded = "folded";
  if (!side.starts_with(kFolded)) return std::nullopt;
  side.remove_prefix(kFolded.size());
  if (side.empty()) return std::string();
  return side.front() == ':' ? std::optional(std::string(side.substr(1))) : std::nullopt;
}

struct LatencyStats {
  // The median over rounds, of which the speed-up is the ratio; mean and percentiles of all samples.
  double median_ms = 0, mean_ms = 0, p5_ms = 0, p95_ms = 0, p99_ms = 0;
  double throughput = 0;  // items per second: axis 0 of the first input by the median
  // Batch by length, by the median; nullopt: what a token of this model is cannot be known (images).
  std::optional<double> tokens_per_second;
};
NORMLENS_FIELDS(LatencyStats, median_ms, mean_ms, p5_ms, p95_ms, p99_ms, throughput, tokens_per_second)

// Ops of one name in one pass, with the instrumentation that it takes to see them.
struct OpShare {
  std::string op;
  int count = 0;
  double ms = 0;
  bool norm = false;  // LayerNorm, RMSNorm or a centering
};
NORMLENS_FIELDS(OpShare, op, count, ms, norm)

struct BenchSide {
  std::string model;    // the side's name
  std::string runtime;  // "LibTorch 2.15.0"
  LatencyStats latency;
  std::vector<double> samples_ms;     // in order
  std::optional<int64_t> peak_bytes;  // most that the tensors made by one pass take at a time
  std::string peak_reason;            // why it is not known
  std::vector<OpShare> ops;           // the longest first
  std::string ops_reason;             // why they are not known
  // A node of the side's graph and its time in one pass, as in `ops`. Nodes that the runtime has merged are left out.
  std::vector<std::pair<int, double>> node_ms;
  std::optional<double> norm_share;  // A share of the ops' time.
  bool ops_late = false;             // a GPU waited for launches: the times of these ops hold that wait
};
NORMLENS_FIELDS(BenchSide, model, runtime, latency, samples_ms, peak_bytes, peak_reason, ops, ops_reason, norm_share,
                ops_late, node_ms)

// BenchOutputs compares B's outputs with A's on the device that is measured; see run::OutputsReport.
struct BenchOutputs {
  double max_rel = 0, noise_floor = 0;
  bool beyond = false;  // max_rel is above the floor
};
NORMLENS_FIELDS(BenchOutputs, max_rel, noise_floor, beyond)

// One point of the sweep; the only one where nothing is varied.
struct BenchPoint {
  std::vector<std::pair<std::string, std::string>> at;  // "batch" "4"
  std::string device, dtype, norm, clock;               // norm: flavour of the fold; empty: a model of a file
  int threads = 0;
  bool cuda_graph = false;  // passes were replayed
  int64_t batch = 1;        // axis 0 of the first input
  BenchSide a;
  std::optional<BenchSide> b;
  std::vector<std::pair<double, double>> rounds;  // medians of A and B
  double speedup = 0, ci_low = 0,
         ci_high = 0;      // Ratio of the medians over rounds of A and B, its 95% bootstrap interval.
  bool noise = true;       // the interval spans 1
  bool warmed_up = true;   // false: the clock never settled
  double other_cores = 0;  // that other programs kept busy during the rounds
  bool crowded = false;    // with them there were too few cores for the threads
  bool complete = false;   // false: still running, or stopped
  // B is a fold of A, and what the norms alone would give: see expectedSpeedup() in service/bench.cpp.
  std::optional<double> expected_speedup;
  // Analysis, centering and rewriting that made B; where sizes are swept, a median of folds at this point's sizes.
  std::optional<double> fold_ms;
  std::optional<double> break_even;     // Runs after which the fold has paid for itself, 001 E.2; rounded up.
  std::optional<BenchOutputs> outputs;  // with B; nullopt: not known, see outputs_reason
  std::string outputs_reason;
  std::string error;  // why there is nothing; empty otherwise
};
NORMLENS_FIELDS(BenchPoint, at, device, dtype, norm, clock, threads, batch, a, b, rounds, speedup, ci_low, ci_high,
                noise, warmed_up, complete, expected_speedup, fold_ms, break_even, error, cuda_graph, other_cores,
                crowded, outputs, outputs_reason)

// One norm at the shapes of the model's inputs; the counts of all its rows: base/geometry/norm_cost.h.
struct NormWork {
  std::string name, kind;  // LayerNorm, RMSNorm, centering
  int64_t rows = 0, width = 0;
  int reductions = 0;  // passes over a row before the results can be written
  double additions = 0, multiplications = 0, divisions = 0, ticks = 0;  // in two passes: paper 001, table 7
  double welford_ticks = 0;                                             // in one, by groups of numbers: table 8
  double bytes = 0;
};
NORMLENS_FIELDS(NormWork, name, kind, rows, width, reductions, additions, multiplications, divisions, ticks,
                welford_ticks, bytes)

struct BenchMachine {
  std::string cpu;  // name of the processor
  int cores = 0;
  double mhz_before = 0, mhz_after = 0;  // The fastest core's; 0: not reported.
  std::string gpu, driver;               // empty: none
  double gpu_mhz_before = 0, gpu_mhz_after = 0;
};
NORMLENS_FIELDS(BenchMachine, cpu, cores, mhz_before, mhz_after, gpu, driver, gpu_mhz_before, gpu_mhz_after)

struct BenchResult {
  std::vector<BenchPoint> points;
  std::vector<NormWork> work_a, work_b;
  std::optional<double> init_ms;  // how long opening the model took; nullopt: not known
  BenchMachine machine;
  std::string versions;    // "NormLens 0.1.0, LibTorch 2.15.0, ONNX Runtime 1.31.0"
  std::string taken;       // when, UTC: "2026-11-21T21:50:01Z"
  bool cancelled = false;  // stopped before the last point was complete
};
NORMLENS_FIELDS(BenchResult, points, work_a, work_b, init_ms, machine, versions, taken, cancelled)

// Returns the point that represents the whole: the first one that was measured. nullptr: none was.
[[nodiscard]] inline const BenchPoint* firstMeasured(const BenchResult& result) {
  const auto first = std::ranges::find_if(
      result.points, [](const BenchPoint& point) { return point.error.empty() && !point.rounds.empty(); });
  return first == result.points.end() ? nullptr : &*first;
}

// Returns (before - after) / before of the medians, in percent: the papers' speed-up.
[[nodiscard]] inline double reductionPercent(const BenchPoint& point) {
  return point.b ? 100 * (1 - point.b->latency.median_ms / point.a.latency.median_ms) : 0;
}

// Returns the first of the folds that no other is faster than beyond both intervals; nullptr: none was measured.
[[nodiscard]] inline const BenchPoint* fastestFold(const BenchResult& result) {
  const auto counts = [](const BenchPoint& point) {
    return point.b && point.complete && point.error.empty() && !(point.outputs && point.outputs->beyond);
  };
  double least = 0;  // that the fastest gains
  for (const BenchPoint& point : result.points) least = counts(point) ? std::max(least, point.ci_low) : least;
  const auto first = std::ranges::find_if(
      result.points, [&](const BenchPoint& point) { return counts(point) && point.ci_high >= least; });
  return first == result.points.end() ? nullptr : &*first;
}

// Describes how the time of a fold varies over points of a sweep, as in table 6 of paper 001.
struct FoldSpread {
  int points = 0;
  double mean_ms = 0, deviation_ms = 0, cv_percent = 0;  // sample deviation; CV: deviation / mean
};
NORMLENS_FIELDS(FoldSpread, points, mean_ms, deviation_ms, cv_percent)

// Returns that over the points that have a fold time and the value `at`, "batch" "4"; over all where `at` is empty.
// nullopt: fewer than two have, or all have the time of one fold.
[[nodiscard]] inline std::optional<FoldSpread> foldSpread(const BenchResult& result,
                                                          const std::pair<std::string, std::string>& at = {}) {
  FoldSpread spread;
  double sum = 0, squares = 0;
  const auto visit = [&](const auto& each) {
    for (const BenchPoint& point : result.points) {
      const bool wanted = at.first.empty() || std::ranges::find(point.at, at) != point.at.end();
      if (wanted && point.fold_ms && point.error.empty()) each(*point.fold_ms);
    }
  };
  visit([&](double ms) { ++spread.points, sum += ms; });
  if (spread.points < 2) return std::nullopt;
  spread.mean_ms = sum / spread.points;
  visit([&](double ms) { squares += (ms - spread.mean_ms) * (ms - spread.mean_ms); });
  spread.deviation_ms = std::sqrt(squares / (spread.points - 1));
  spread.cv_percent = 100 * spread.deviation_ms / spread.mean_ms;
  return squares > 0 ? std::optional(spread) : std::nullopt;
}

// ---- notification "$/bench", engine -> window
struct BenchUpdate {
  int64_t id = 0;             // the request it belongs to
  int index = 0, points = 1;  // which point of how many
  BenchPoint now;
};
NORMLENS_FIELDS(BenchUpdate, id, index, points, now)

}  // namespace normlens::protocol
