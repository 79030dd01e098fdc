#include "core/run/measure/bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "core/base/cpu_load.h"
#include "core/base/machine.h"
#include "core/run/compare/compare_models.h"
#include "core/run/proof/verify.h"

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
    RETURN_IF_ERROR(task.check());
    ASSIGN_OR_RETURN(const auto ms, runner.runOnceMs());
    samples.push_back(ms);
  }
  return {};
}

// True once two windows in a row agree. Gives up after kPatience: a model of seconds needs no further warm-up.
Result<bool> warmUntilStable(Runner& runner, const Task& task) {
  const auto start = std::chrono::steady_clock::now();
  double previous = -1;  // no window before
  for (int window = 0; window < kMaxWindows; ++window) {
    Samples samples;
    RETURN_IF_ERROR(runTimes(runner, kWindow, samples, task));
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
  RETURN_IF_ERROR(runTimes(runner, *options.warmup, unused, task));
  return true;
}

// A model that is run, and its file, which its errors name where two files are measured.
struct Side {
  Runner* runner = nullptr;  // null: there is none
  std::string file;

  [[nodiscard]] tl::unexpected<Error> failed(Error error) const {
    if (error.code != ErrorCode::Cancelled && !file.empty()) error.message = file + ": " + error.message;
    return tl::unexpected(std::move(error));
  }
};

// One A B B A round, appended to both sample lists; without B as many runs of A alone.
Result<RoundMedians> runRound(const Side& a, const Side& b, int iterations, BenchReport& report, const Task& task) {
  Samples roundA, roundB;
  std::vector<std::pair<const Side*, Samples*>> parts{{&a, &roundA}, {&a, &roundA}};
  if (b.runner) parts = {{&a, &roundA}, {&b, &roundB}, {&b, &roundB}, {&a, &roundA}};
  for (const auto& [side, samples] : parts) {
    if (Status done = runTimes(*side->runner, iterations, *samples, task); !done) {
      return side->failed(std::move(done.error()));
    }
  }
  report.a.samples.insert(report.a.samples.end(), roundA.begin(), roundA.end());
  if (b.runner) report.b->samples.insert(report.b->samples.end(), roundB.begin(), roundB.end());
  return RoundMedians{median(roundA), b.runner ? median(roundB) : 0};
}

void summarizeRounds(BenchReport& report, uint64_t seed) {
  const auto [medianOfA, medianOfB] = medianOver(report.rounds);
  report.a.latency = summarize(report.a.samples);
  report.a.latency.medianMs = medianOfA;
  if (!report.b) return;
  report.b->latency = summarize(report.b->samples);
  report.b->latency.medianMs = medianOfB;
  report.speedup = bootstrapSpeedup(report.rounds, seed);
}

// Neither is worth losing the measurement for: why there is nothing goes into the report.
void measureExtras(Runner& runner, SideReport& side, const Task& task) {
  task.report("measuring memory");
  if (const auto peak = runner.peakBytes()) {
    side.peakBytes = *peak;
  } else {
    side.peakReason = peak.error().message;
  }
  task.report("timing single ops");
  if (auto ops = runner.opTimes(task)) {
    side.ops = std::move(*ops);
  } else {
    side.opsReason = ops.error().message;
  }
}

// Evenly spread rows of both: comparing all of a large output may take longer than measuring it.
void spreadRows(graph::TensorView& a, graph::TensorView& b) {
  constexpr int64_t kMostCompared = int64_t{1} << 22;
  const int64_t count = graph::elementCount(a.shape).value_or(0);
  if (a.shape != b.shape || count <= kMostCompared) return;
  const auto last = a.shape.end() - (a.shape.size() > 1 ? 1 : 0);
  const auto axis = static_cast<size_t>(std::max_element(a.shape.begin(), last) - a.shape.begin());
  const int64_t step = std::min(a.shape[axis], (count + kMostCompared - 1) / kMostCompared);
  for (graph::TensorView* view : {&a, &b}) {
    view->shape[axis] = (view->shape[axis] + step - 1) / step;
    view->strides.at(axis) *= step;
  }
}

Result<double> largestDifference(formats::Tensors a, formats::Tensors b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) spreadRows(a[i].view, b[i].view);
  ASSIGN_OR_RETURN(auto diffs, compareOutputs(a, b));
  std::erase_if(diffs, [](const TensorDiff& diff) { return !diff.telling; });
  if (diffs.empty()) return fail(ErrorCode::Unsupported, "no output has a finite floating-point number");
  // The maximum is by rows: one that is huge would hide what is wrong in the others.
  return std::ranges::max_element(diffs, {}, &TensorDiff::rowRel)->rowRel;
}

Result<OutputsReport> compareSides(const formats::Model& a, const formats::Model& b, Runner& runnerA, Runner& runnerB,
                                   const formats::Tensors& inputs, formats::RunSettings settings) {
  ASSIGN_OR_RETURN(auto ofA, runnerA.outputs());
  ASSIGN_OR_RETURN(auto ofB, runnerB.outputs());
  ASSIGN_OR_RETURN(const auto difference, largestDifference(ofA, ofB));
  const VerifyOptions proof;
  graph::DType type = coarserType(a.facts().dtype, b.facts().dtype);
  if (settings.dtype != graph::DType::Unknown) type = coarserType(type, settings.dtype);
  if (type == graph::DType::Float64) return OutputsReport{difference, proof.algebraLimit};
  OutputsReport report{difference, divergenceLimit(type)};
  if (!report.isBeyond()) return report;
  settings.dtype = graph::DType::Unknown;
  settings.cudaGraph = false;
  const auto exact = a.toFloat64();
  const auto runner = exact ? (*exact)->runner(inputs, settings) : tl::unexpected(exact.error());
  auto outputs = runner ? (*runner)->outputs() : tl::unexpected(runner.error());
  const double rounding = outputs ? largestDifference(*outputs, std::move(ofA)).value_or(0) : 0;
  constexpr double kMostRounding = 0.1;  // with more it is not rounding alone: a model may draw random numbers
  if (rounding <= kMostRounding) {
    report.noiseFloor = std::max(report.noiseFloor, proof.floorFactor * rounding);
  } else {
    const auto ofFold = largestDifference(std::move(*outputs), std::move(ofB));
    const bool isRight = ofFold && *ofFold <= kMostRounding;  // and A is lost in its type's rounding
    if (isRight) report.noiseFloor = std::max(report.noiseFloor, difference);
  }
  return report;
}

SideReport describe(const Runner& runner) {
  SideReport side;
  side.runtime = runner.runtime();
  side.clock = runner.clock();
  side.threads = runner.threads();
  return side;
}

// Returns whether the interval of the speed-up is as narrow as wanted. The bootstrap's interval of a few rounds is not
// wide enough to decide that.
bool isSureEnough(const BenchReport& report, double untilPercent) {
  constexpr size_t kLeastRounds = 8;
  if (untilPercent <= 0 || !report.b || report.rounds.size() < kLeastRounds) return false;
  const Speedup& speedup = report.speedup;
  const double most = untilPercent / 100 * speedup.ratio;
  return speedup.high - speedup.ratio <= most && speedup.ratio - speedup.low <= most;
}

// Runs the rounds; returns true once all that are wanted are done, false when stopped with at least one.
Result<bool> runRounds(const Side& a, const Side& b, const BenchOptions& options, BenchReport& report,
                       const Task& task) {
  const bool onCpu = options.settings.device == formats::Device::Cpu;
  const int cores = physicalCores();
  const OtherLoad others;
  for (int round = 0; round < options.rounds; ++round) {
    task.report("measuring", static_cast<double>(round) / options.rounds);
    const auto medians = runRound(a, b, options.iterations, report, task);
    if (!medians) {
      if (medians.error().code == ErrorCode::Cancelled && !report.rounds.empty()) return false;
      return tl::unexpected(medians.error());
    }
    report.rounds.push_back(*medians);
    report.otherCores = others.cores();
    report.crowded = onCpu && isCrowded(report.otherCores, report.a.threads, cores);
    summarizeRounds(report, options.seed);
    if (options.onRound) options.onRound(report);
    if (isSureEnough(report, options.untilPercent)) break;
  }
  return true;
}

}  // namespace

Result<BenchReport> benchModels(const formats::Model& a, const formats::Model* b, const formats::Tensors& inputs,
                                const BenchOptions& options, const Task& task) {
  if (options.rounds < 1 || options.iterations < 1 || options.warmup.value_or(0) < 0) {
    return fail(ErrorCode::Usage, "rounds and iterations must be at least 1, and warmup at least 0");
  }
  if (options.settings.cudaGraph && options.settings.device != formats::Device::Cuda) {
    return fail(ErrorCode::Unsupported, "CUDA graphs are of CUDA: on the CPU there is nothing to replay",
                "measure with the device cuda, or without CUDA graphs");
  }
  const bool twoFiles = b && a.facts().path != b->facts().path;
  Side sideA{.file = twoFiles ? a.facts().path.string() : ""}, sideB{.file = twoFiles ? b->facts().path.string() : ""};
  const auto runnerA = a.runner(inputs, options.settings);
  if (!runnerA) return sideA.failed(runnerA.error());
  sideA.runner = runnerA->get();
  std::unique_ptr<Runner> runnerB;
  BenchReport report;
  report.a = describe(**runnerA);
  if (b) {
    formats::RunSettings same = options.settings;
    same.threads = report.a.threads;  // two runtimes need not agree on how many are best
    auto made = b->runner(inputs, same);
    if (!made) return sideB.failed(made.error());
    runnerB = std::move(*made);
    sideB.runner = runnerB.get();
    report.b = describe(*runnerB);
  }
  for (const Side* side : {&sideA, &sideB}) {
    if (!side->runner) continue;
    const auto settled = warmUp(*side->runner, options, task);
    if (!settled) return side->failed(settled.error());
    report.warmedUp = report.warmedUp && *settled;
  }
  if (options.extras && runnerB) {  // before the rounds, which may be stopped
    task.report("comparing the outputs");
    const auto outputs = compareSides(a, *b, **runnerA, *runnerB, inputs, options.settings);
    if (outputs) {
      report.outputs = *outputs;
    } else {
      report.outputsReason = outputs.error().message;
    }
  }
  ASSIGN_OR_RETURN(const auto complete, runRounds(sideA, sideB, options, report, task));
  report.complete = complete;
  if (!options.extras || !report.complete) return report;
  measureExtras(**runnerA, report.a, task);
  if (runnerB) measureExtras(*runnerB, *report.b, task);
  return report;
}

}  // namespace normlens::run
