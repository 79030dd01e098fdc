#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "app/engine/verbs.h"
#include "app/engine/verbs/model_options.h"
#include "app/engine/verbs/paper_reference.h"
#include "app/engine/verbs/reports.h"
#include "app/engine/verbs/shell_words.h"
#include "core/base/formatted.h"
#include "core/protocol/figure_text.h"

namespace normlens::engine {
namespace {

using protocol::BenchParams;
using protocol::BenchPoint;

struct BenchOptions {
  std::string a, b;
  NormChoice norm;
  Policy policy = Policy::Balanced;
  bool fold = false;
  std::optional<int> warmup;
  BenchParams params;
  InputOptions inputs;

  [[nodiscard]] bool sweepsNorms() const {
    return std::ranges::any_of(params.sweep, [](const std::string& sweep) { return sweep.starts_with("norm="); });
  }
};

void printSide(const std::string& where, const char* name, const protocol::BenchSide& side, bool replayed,
               Console& console) {
  const protocol::LatencyStats& latency = side.latency;
  std::string line =
      where + formatted("%s: median %.3f ms (p5 %.3f, p95 %.3f, p99 %.3f), %.1f/s", name, latency.median_ms,
                        latency.p5_ms, latency.p95_ms, latency.p99_ms, latency.throughput);
  if (latency.tokens_per_second) line += formatted(", %.1f tokens/s", *latency.tokens_per_second);
  if (side.peak_bytes) line += ", peak " + megabytes(*side.peak_bytes);
  if (side.norm_share) line += formatted(", norms %.1f%% with instrumentation", 100 * *side.norm_share);
  console.print(line + ", " + side.runtime + (replayed ? ", CUDA graph" : ""));
}

void printSpeedup(const std::string& where, const BenchPoint& point, Console& console) {
  console.print(where + formatted("speed-up %.3f, 95%% interval %.3f to %.3f%s", point.speedup, point.ci_low,
                                  point.ci_high, point.noise ? ": noise" : ""));
  if (point.expected_speedup) {
    console.print(where + formatted("speed-up expected from the norms' share of %.1f%%: %.3f",
                                    100 * *point.a.norm_share, *point.expected_speedup));
  }
  if (const auto papers = paperSpeedups(point); !papers.empty()) {
    console.print(where + "speed-up in the papers: " + paperSpeedupText(papers));
  }
  if (const auto& outputs = point.outputs) {
    console.print(where + formatted("largest difference of the outputs %.3g, limit %.3g", outputs->max_rel,
                                    outputs->noise_floor));
  }
}

// "batch=4 seq=64 "
std::string valuesText(const BenchPoint& point) {
  std::string text;
  for (const auto& [name, value] : point.at) text += name + "=" + value + " ";
  return text;
}

void printPoint(const BenchPoint& point, Console& console) {
  std::string where = valuesText(point);
  if (!point.complete && point.error.empty()) where += formatted("(stopped after %zu rounds) ", point.rounds.size());
  if (!point.error.empty()) return console.print(where + "failed: " + point.error);
  printSide(where, "a", point.a, point.cuda_graph, console);
  if (point.b) {
    printSide(where, "b", *point.b, point.cuda_graph, console);
    printSpeedup(where, point, console);
  }
  for (const std::string& caution : protocol::cautions(point)) console.print(where + caution);
}

// Prints what the two spend on norms in theory, at the inputs' own sizes.
void printWork(const protocol::BenchResult& result, Console& console) {
  const auto sum = [](const std::vector<protocol::NormWork>& work) {
    protocol::NormWork all;
    for (const auto& norm : work) {
      for (const auto member :
           {&protocol::NormWork::additions, &protocol::NormWork::multiplications, &protocol::NormWork::divisions,
            &protocol::NormWork::ticks, &protocol::NormWork::welford_ticks, &protocol::NormWork::bytes}) {
        all.*member += norm.*member / 1e6;
      }
    }
    return formatted(
        "in millions %.3g additions, %.3g multiplications, %.3g divisions, %.3g ticks (%.3g by Welford's "
        "method), %.3g MB",
        all.additions, all.multiplications, all.divisions, all.ticks, all.welford_ticks, all.bytes);
  };
  if (!result.work_a.empty()) console.print("norms of a by their shapes: " + sum(result.work_a));
  if (!result.work_b.empty()) console.print("norms of b by their shapes: " + sum(result.work_b));
}

// Prints the columns of paper 001, E.2: what a fold costs and after how many runs it has paid for itself.
void printFolds(const protocol::BenchResult& result, Console& console) {
  if (!result.init_ms) return;  // stopped within a point
  console.print("  fold ms    init ms  ratio %  before ms   after ms  speed-up %  break-even");
  for (const BenchPoint& point : result.points) {
    if (!point.fold_ms || !point.b || point.rounds.empty()) continue;
    const double fold = *point.fold_ms, init = *result.init_ms;
    const std::string runs = point.break_even ? formatted("%.0f runs", *point.break_even)
                             : point.noise    ? "none: noise"
                                              : "none: not faster";
    console.print(formatted("%9.1f  %9.1f  %7.2f  %9.3f  %9.3f  %10.2f  ", fold, init, 100 * fold / (fold + init),
                            point.a.latency.median_ms, point.b->latency.median_ms, protocol::reductionPercent(point)) +
                  runs + (point.at.empty() ? "" : "  " + valuesText(point)));
  }
  if (const auto spread = protocol::foldSpread(result)) {
    console.print(formatted("folds at %d points: mean %.2f ms, deviation %.2f ms, CV %.2f%%", spread->points,
                            spread->mean_ms, spread->deviation_ms, spread->cv_percent));
  }
}

// Names the fastest of the norms that alone were swept.
void printFastest(const protocol::BenchResult& result, Console& console) {
  const BenchPoint* const fastest = protocol::fastestFold(result);
  if (fastest == nullptr || std::ranges::any_of(result.points, [](const auto& point) { return point.at.size() != 1; }))
    return;
  console.print("fastest outside noise: --norm " + fastest->norm +
                (fastest->ci_high < 1 ? ", which is slower than the original here" : ""));
}

Status foldFirst(service::Service& service, const BenchOptions& options, const Task& task) {
  protocol::FoldParams params;
  params.plan.policy = options.policy;
  params.norm = options.norm.name;
  params.verify = false;
  ASSIGN_OR_RETURN(const auto folded, service.fold(params, task));
  if (folded.ok) return {};
  return fail(ErrorCode::Refused, folded.reason + ", so there is nothing to measure " + options.a + " against");
}

// Holds what was reported so far, for who cannot wait for the rest. Thread: any.
class Measured {
 public:
  void set(int index, const BenchPoint& point) {
    const std::lock_guard lock(mutex_);
    points_.insert_or_assign(index, point);
  }
  std::optional<protocol::BenchResult> take() {
    const std::lock_guard lock(mutex_);
    if (points_.empty()) return std::nullopt;
    protocol::BenchResult result;
    for (auto& [index, point] : points_) result.points.push_back(std::move(point));
    result.cancelled = true;
    return result;
  }

 private:
  std::mutex mutex_;
  std::map<int, BenchPoint> points_;
};

Result<Exit> runBench(BenchOptions options, const Call& call) {
  Console& console = call.console;
  const Task task = console.task(call.stop());
  const bool folds = options.fold || options.sweepsNorms();
  if (folds && !options.b.empty()) {
    return fail(ErrorCode::Usage, "--fold folds the first model, but a second model was given",
                "leave one of the two out");
  }
  RETURN_IF_ERROR(service::checkBenchParams(options.params));
  service::Service service;
  ASSIGN_OR_RETURN(const auto opened, openModel(service, options.a, options.inputs, call, task));
  RETURN_IF_ERROR(requireRunnable(options.a, opened.analysis));
  noteAssumedInputs(opened.analysis, console);
  if (folds) {
    RETURN_IF_ERROR(options.norm.chooseFor(opened.info.format));
    RETURN_IF_ERROR(foldFirst(service, options, task));
  }
  BenchParams& params = options.params;
  params.a = "original";
  params.b = folds ? "folded" : options.b;
  if (options.warmup) params.warmup = *options.warmup;
  Measured measured;
  const auto tell = [&](int index, int points, const BenchPoint& point) {
    const bool failed = points > 1 && !point.error.empty();  // the only one's error is the command's
    if (point.complete || failed) printPoint(point, console);
    measured.set(index, point);
  };
  const auto end = [&](protocol::BenchResult result) {
    for (BenchPoint& point : result.points) {
      if (point.a.model == "original") point.a.model = options.a;
    }
    if (const BenchPoint& last = result.points.back(); last.error.empty() && !last.complete) printPoint(last, console);
    if (options.sweepsNorms()) printFastest(result, console);
    printWork(result, console);
    if (folds) {
      printFolds(result, console);
      console.print("in the papers: " + paperFoldText());
    }
    if (result.cancelled) console.note("stopped: the figures above were measured, the others were not");
    return console.finish(
        [&] { return benchReport(result, opened.analysis.inputs, !params.sweep.empty(), commandLine()); },
        result.cancelled ? Exit::NotDone : Exit::Done);
  };
  call.interrupt.ifItGoesOn([&] {
    auto soFar = measured.take();
    return static_cast<int>(soFar ? end(std::move(*soFar))
                                  : console.fail({ErrorCode::Cancelled, "stopped on request", {}}));
  });
  auto result = service.bench(params, tell, task);
  call.interrupt.ifItGoesOn({});
  if (!result) return tl::unexpected(result.error());
  return end(std::move(*result));
}

NamedFiles filesOf(const BenchOptions& options) {
  NamedFiles files = namedFiles({options.a, options.b}, options.inputs);
  const auto sweepsCuda = [](const std::string& sweep) {
    return sweep.starts_with("device=") && sweep.find("cuda") != std::string::npos;
  };
  files.gpu = options.params.device.starts_with("cuda") || std::ranges::any_of(options.params.sweep, sweepsCuda);
  return files;
}

void declareSettings(CLI::App& app, BenchOptions& options) {
  BenchParams& params = options.params;
  app.add_option("--device", params.device, kDeviceHelp)->capture_default_str();
  app.add_option("--dtype", params.dtype, "Type of weights and float inputs; default: as in the file")
      ->check(CLI::IsMember({"float32", "float16", "bfloat16", "float64"}));
  app.add_option("--threads", params.threads, "Threads of one operation; default: the runtime's choice")
      ->check(wholeFrom(1));
  app.add_flag("--cuda-graphs", params.cuda_graph,
               "On CUDA: record a run once and replay it, which saves the kernel launches");
  app.add_option("--warmup", options.warmup, "Runs before measuring; default: until the clock settles")
      ->check(wholeFrom(0));
  app.add_option("--iterations", params.iterations, "Runs in each part of a round")
      ->check(wholeFrom(1))
      ->capture_default_str();
  app.add_option("--rounds", params.rounds, "Rounds, each A B B A")->check(wholeFrom(1))->capture_default_str();
  app.add_option("--until", params.until_percent,
                 "End the rounds once the 95% interval of the speed-up is within so many percent")
      ->check(CLI::PositiveNumber);
  app.add_option("--sweep", params.sweep,
                 "Measure at several values: batch=1,2,4, seq=64,256, dtype=float32,bfloat16, device=cpu,cuda, "
                 "norm=portable,fast")
      ->type_name("NAME=VALUES")
      ->take_all()
      ->allow_extra_args(false);
}

}  // namespace

Declared declareBench(CLI::App& app, const confine::Limits&) {
  const auto options = std::make_shared<BenchOptions>();
  app.add_option("a", options->a, "The model, or the first of two")->required()->type_name("A");
  app.add_option("b", options->b, "The second model, measured against the first")->type_name("B");
  options->inputs.addTo(app);
  app.add_flag("--fold", options->fold, "Measure A against A folded; the fold is made in memory first");
  addChoice(app, "--policy", options->policy, "What --fold folds: free, balanced, all or paper");
  options->norm.addTo(app, "What --fold writes");
  declareSettings(app, *options);
  return {
      [options](const Call& call) { return runBench(*options, call); }, [options] { return filesOf(*options); }, {}};
}

}  // namespace normlens::engine
