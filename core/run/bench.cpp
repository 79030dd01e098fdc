#include "core/run/bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace normlens::run {
namespace {

using formats::Runner;
using Samples = std::vector<double>;

constexpr int kWindow = 5;  // runs per warm-up window
constexpr int kMaxWindows = 20;
constexpr double kSettled = 0.03;  // relative difference of two windows' medians
constexpr std::chrono::seconds kPatience{5};

Status runTimes(Runner& runner, int times, Samples& samples, const Task& task) {
  for (int i = 0; i < times; ++i) {
    if (const Status running = task.check(); !running) return running;
    const auto ms = runner.runOnceMs();
    if (!ms) return tl::unexpected(ms.error());
    samples.push_back(*ms);
  }
  return {};
}

// True once two windows in a row agree. Gives up after kPatience: a model of seconds needs no further warm-up.
Result<bool> warmUntilStable(Runner& runner, const Task& task) {
  const auto start = std::chrono::steady_clock::now();
  double previous = -1;  // no window before
  for (int window = 0; window < kMaxWindows; ++window) {
    Samples samples;
    if (const Status done = runTimes(runner, kWindow, samples, task); !done) return tl::unexpected(done.error());
    const double now = median(samples);
    if (previous >= 0 && std::abs(now - previous) <= kSettled * previous) return true;
    if (std::chrono::steady_clock::now() - start > kPatience) return false;
    previous = now;
  }
  return false;
}

Result<bool> warmUp(Runner& runner, const BenchOptions& options, const Task& task) {
  task.report("warming up");
  if (!options.warmup) return warmUntilStable(runner, task);
  Samples unused;
  if (const Status done = runTimes(runner, *options.warmup, unused, task); !done) return tl::unexpected(done.error());
  return true;
}

// One A B B A round: appends to both sample lists and gives the ratio of this round's medians.
Result<double> runRound(Runner& a, Runner& b, int iterations, Samples& samplesA, Samples& samplesB, const Task& task) {
  Samples roundA, roundB;
  for (const auto& [runner, samples] : {std::pair{&a, &roundA}, {&b, &roundB}, {&b, &roundB}, {&a, &roundA}}) {
    if (const Status done = runTimes(*runner, iterations, *samples, task); !done) return tl::unexpected(done.error());
  }
  samplesA.insert(samplesA.end(), roundA.begin(), roundA.end());
  samplesB.insert(samplesB.end(), roundB.begin(), roundB.end());
  return median(roundA) / median(roundB);
}

}  // namespace

Result<BenchReport> benchModels(const formats::Model& a, const formats::Model* b, const formats::Tensors& inputs,
                                const BenchOptions& options, const Task& task) {
  if (options.rounds < 1 || options.iterations < 1 || options.warmup.value_or(0) < 0) {
    return fail(ErrorCode::Usage, "rounds and iterations must be at least 1, and warmup at least 0");
  }
  const auto runnerA = a.runner(inputs);
  if (!runnerA) return tl::unexpected(runnerA.error());
  std::unique_ptr<Runner> runnerB;
  if (b) {
    auto made = b->runner(inputs);
    if (!made) return tl::unexpected(made.error());
    runnerB = std::move(*made);
  }
  BenchReport report;
  for (Runner* runner : {runnerA->get(), runnerB.get()}) {
    if (!runner) continue;
    const auto settled = warmUp(*runner, options, task);
    if (!settled) return tl::unexpected(settled.error());
    report.warmedUp = report.warmedUp && *settled;
  }
  Samples samplesA, samplesB, ratios;
  for (int round = 0; round < options.rounds; ++round) {
    task.report("measuring", static_cast<double>(round) / options.rounds);
    if (!runnerB) {
      const Status done = runTimes(**runnerA, 2 * options.iterations, samplesA, task);
      if (!done) return tl::unexpected(done.error());
      continue;
    }
    const auto ratio = runRound(**runnerA, *runnerB, options.iterations, samplesA, samplesB, task);
    if (!ratio) return tl::unexpected(ratio.error());
    ratios.push_back(*ratio);
  }
  report.a = summarize(samplesA);
  if (runnerB) {
    report.b = summarize(samplesB);
    report.speedup = bootstrapSpeedup(ratios, options.seed);
  }
  return report;
}

}  // namespace normlens::run
