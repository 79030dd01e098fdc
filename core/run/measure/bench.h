// Latency of one model, or of two side by side.
//
// Two models are run interleaved, a round is A B B A, so that a drift of the clock hits both alike. A side's median is
// that over rounds of its median in each; the speed-up is A's by B's, with a bootstrap interval. Both see the same
// inputs, the same type, device and number of threads. Warm-up goes on until two windows of runs agree within 3%.
// Memory and the times of single ops are taken after the last round, in passes of their own, and the outputs of the two
// are compared there. Thread: one thread; nothing else should run meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/model.h"
#include "core/run/measure/statistics.h"

namespace normlens::run {

// SideReport holds the measurements of one model.
struct SideReport {
  LatencyStats latency;              // the median over rounds; mean and percentiles of all samples
  std::vector<double> samples;       // milliseconds, in order
  std::optional<int64_t> peakBytes;  // see formats::Runner; nullopt: not known, see peakReason
  std::string peakReason;            // empty where it is known
  std::vector<formats::OpTime> ops;  // with instrumentation; empty: not known, see opsReason
  std::string opsReason;
  std::string runtime, clock;
  int threads = 0;
};

// OutputsReport compares the outputs of B with A's: the largest max_rel (compare/diff.h) of outputs with floating-point
// numbers, over evenly spread rows of one that has more than four million.
// The floor is 256 epsilons of the coarsest type of the two files and the measurement, at most 0.05
// (divergenceLimit()); 1e-10 for float64. Only where the difference is above it, A is also run as a float64 copy on the
// same device: six times what A loses by its type, up to 0.1, is noise too, as in the proof of files, and so is any
// difference where A loses more and B is within 0.1 of the copy. That copy takes memory and a pass; where it cannot be
// made, the first floor stays.
struct OutputsReport {
  double maxRel = 0, noiseFloor = 0;
  [[nodiscard]] bool isBeyond() const { return !(maxRel <= noiseFloor); }
};

struct BenchReport {
  SideReport a;
  std::optional<SideReport> b;
  std::vector<RoundMedians> rounds;
  Speedup speedup;                       // meaningful only with b
  std::optional<OutputsReport> outputs;  // Compare b with a; nullopt: not known, see outputsReason.
  std::string outputsReason;
  bool warmedUp = true;   // false: the clock never settled, read the figures with care
  double otherCores = 0;  // how many cores other programs kept busy during the rounds
  bool crowded = false;   // on the CPU: with them there were too few for the threads, read with care as well
  bool complete = true;   // false: stopped before the last round; what is here was measured
};

struct BenchOptions {
  int rounds = 20;
  int iterations = 5;         // runs in each of the four parts of a round
  std::optional<int> warmup;  // runs per model; nullopt: until stable
  double untilPercent = 0;    // with two models; see protocol::BenchParams
  uint64_t seed = 1;          // Seeds the bootstrap.
  formats::RunSettings settings;
  bool extras = true;  // memory, times of single ops and the comparison of the outputs too
  // Called after each round with what is known so far; memory and ops come at the end only. May be empty.
  std::function<void(const BenchReport& soFar)> onRound;
};

// `b` may be null. Stopped after at least one round it gives what there is. Errors: Usage for counts below 1,
// Unsupported for CUDA graphs on the CPU, those of Model::runner and its Runner, Cancelled before the first round was
// done.
[[nodiscard]] Result<BenchReport> benchModels(const formats::Model& a, const formats::Model* b,
                                              const formats::Tensors& inputs, const BenchOptions& options,
                                              const Task& task);

}  // namespace normlens::run
