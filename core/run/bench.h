// Latency of one model, or of two side by side.
//
// Two models are run interleaved, a round is A B B A, so that a drift of the clock hits both alike; the speed-up is the
// median over rounds of (median of A) / (median of B), with a bootstrap interval. Both see the same inputs. Warm-up
// goes on until two windows of runs agree within 3%. Thread: one thread; nothing else should run meanwhile.
#pragma once

#include <cstdint>
#include <optional>

#include "core/formats/model.h"
#include "core/run/statistics.h"

namespace normlens::run {

struct BenchOptions {
  int rounds = 20;
  int iterations = 5;         // runs in each of the four parts of a round
  std::optional<int> warmup;  // runs per model; nullopt: until stable
  uint64_t seed = 1;          // of the bootstrap
};

struct BenchReport {
  LatencyStats a;
  std::optional<LatencyStats> b;
  Speedup speedup;       // meaningful only with b
  bool warmedUp = true;  // false: the clock never settled, read the figures with care
};

// `b` may be null. Errors: Usage for counts below 1, RunFailed, Cancelled.
[[nodiscard]] Result<BenchReport> benchModels(const formats::Model& a, const formats::Model* b,
                                              const formats::Tensors& inputs, const BenchOptions& options,
                                              const Task& task);

}  // namespace normlens::run
