#include "core/service/bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <new>
#include <optional>

#include "core/analysis/norms/norms.h"
#include "core/base/machine.h"
#include "core/base/plain_error.h"
#include "core/base/stopwatch.h"
#include "core/formats/formats.h"
#include "core/run/measure/bench.h"
#include "core/run/measure/norm_work.h"
#include "core/run/measure/sweep.h"
#include "core/service/fuse_norms.h"
#include "core/service/service_state.h"

namespace normlens::service {
namespace {

using protocol::BenchParams;
using protocol::BenchPoint;
using protocol::BenchResult;

constexpr std::chrono::milliseconds kReportEvery{100};

// The ops of a side are matched with these: the model's graph, and which of its nodes are norms.
struct SideNames {
  std::string model;
  std::vector<bool> normNodes;  // by node
};

// Sizes of one pass.
struct PassSizes {
  int64_t batch = 1;
  std::optional<int64_t> tokens;
};

protocol::LatencyStats latency(const run::LatencyStats& stats, const PassSizes& sizes) {
  constexpr double kMsPerSecond = 1000;
  const auto perSecond = [&](int64_t count) {
    return stats.medianMs > 0 ? kMsPerSecond * static_cast<double>(count) / stats.medianMs : 0;
  };
  return {stats.medianMs,
          stats.meanMs,
          stats.p5Ms,
          stats.p95Ms,
          stats.p99Ms,
          perSecond(sizes.batch),
          sizes.tokens ? std::optional(perSecond(*sizes.tokens)) : std::nullopt};
}

// Returns the input whose two leading axes are batch and length of the tokens: the first of integers with two axes
// (ids), else the first of [batch, length, channels] that norms of the model go over in as many rows, which those of an
// image do not. nullopt: what a token is cannot be known.
std::optional<size_t> tokenInput(const formats::Tensors& inputs, const std::vector<protocol::NormWork>& work) {
  const auto find = [&](auto fits) -> std::optional<size_t> {
    const auto found = std::ranges::find_if(inputs, fits, &formats::NamedTensor::view);
    return found == inputs.end() ? std::nullopt : std::optional(static_cast<size_t>(found - inputs.begin()));
  };
  const auto ids = find([](const graph::TensorView& view) {
    return view.shape.size() == 2 && (view.dtype == graph::DType::Int64 || view.dtype == graph::DType::Int32);
  });
  if (ids) return ids;
  return find([&](const graph::TensorView& view) {
    return view.shape.size() == 3 && graph::isFloat(view.dtype) &&
           std::ranges::find(work, view.shape[0] * view.shape[1], &protocol::NormWork::rows) != work.end();
  });
}

// Returns the speed-up that the norms alone would give: of the time of A, `share` is in norms, which take fewer ticks
// in B by Welford's method (001 G.1.3, tables 9 and 12; ticks of table 8). nullopt: no norms are known.
std::optional<double> expectedSpeedup(const BenchResult& result, std::optional<double> share) {
  const auto ticksOf = [](const std::vector<protocol::NormWork>& work) {
    double ticks = 0;
    for (const protocol::NormWork& norm : work) ticks += norm.welford_ticks;
    return ticks;
  };
  const double before = ticksOf(result.work_a);
  if (!share || before <= 0) return std::nullopt;
  return 1 / (1 - *share * (1 - ticksOf(result.work_b) / before));
}

bool isNorm(const formats::OpTime& op, const SideNames& names) {
  if (run::isNormOp(op.op)) return true;
  return op.node != graph::kNone && static_cast<size_t>(op.node) < names.normNodes.size() &&
         names.normNodes[static_cast<size_t>(op.node)];
}

void describeOps(const std::vector<formats::OpTime>& ops, const SideNames& names, protocol::BenchSide& out) {
  std::map<std::pair<std::string, bool>, protocol::OpShare> shares;
  double all = 0, norms = 0;
  for (const formats::OpTime& op : ops) {
    const bool norm = isNorm(op, names);
    protocol::OpShare& share = shares[{op.op, norm}];
    share.op = op.op;
    share.norm = norm;
    share.count += 1;
    share.ms += op.ms;
    if (op.node != graph::kNone) out.node_ms.emplace_back(op.node, op.ms);
    out.ops_late = out.ops_late || op.late;
    all += op.ms;
    if (norm) norms += op.ms;
  }
  for (auto& [key, share] : shares) out.ops.push_back(std::move(share));
  std::ranges::stable_sort(out.ops, std::ranges::greater(), &protocol::OpShare::ms);
  if (all > 0) out.norm_share = norms / all;
}

protocol::BenchSide describeSide(const run::SideReport& side, const SideNames& names, const PassSizes& sizes) {
  protocol::BenchSide out;
  out.model = names.model;
  out.runtime = side.runtime;
  out.latency = latency(side.latency, sizes);
  out.samples_ms = side.samples;
  out.peak_bytes = side.peakBytes;
  out.peak_reason = side.peakReason;
  out.ops_reason = side.opsReason;
  describeOps(side.ops, names, out);
  return out;
}

void describeMeasured(const run::BenchReport& report, const SideNames& a, const SideNames& b,
                      std::optional<int64_t> tokens, protocol::BenchPoint& point) {
  const PassSizes sizes{point.batch, tokens};
  point.clock = report.a.clock;
  point.threads = report.a.threads;
  point.a = describeSide(report.a, a, sizes);
  point.b.reset();
  if (report.b) point.b = describeSide(*report.b, b, sizes);
  point.rounds.clear();
  for (const run::RoundMedians& round : report.rounds) point.rounds.emplace_back(round.aMs, round.bMs);
  point.warmed_up = report.warmedUp;
  point.other_cores = report.otherCores;
  point.crowded = report.crowded;
  if (!report.b) return;
  point.speedup = report.speedup.ratio;
  point.outputs_reason = report.outputsReason;
  if (report.outputs) {
    point.outputs = {report.outputs->maxRel, report.outputs->noiseFloor, report.outputs->isBeyond()};
  }
  point.ci_low = report.speedup.low;
  point.ci_high = report.speedup.high;
  point.noise = report.speedup.noise;
  const double saved = point.a.latency.median_ms - point.b->latency.median_ms;
  point.break_even.reset();
  if (point.fold_ms && !point.noise && saved > 0) point.break_even = std::ceil(*point.fold_ms / saved);
}

// A copy is probed at the inputs: the model itself has shapes of its analysis, which takes no size of 1 (probeModel()),
// or those of its file's example. Where that cannot be done, its shapes count.
std::vector<protocol::NormWork> workOf(const formats::Model& model, const formats::Tensors& inputs, const Task& task) {
  const auto norms = analysis::findNorms(model.graph()).layerNorms;
  const auto copy = model.apply({}, norms, formats::NormFlavour::Portable, task);
  const graph::Graph& graph = copy && (*copy)->probe(inputs, task) ? (*copy)->graph() : model.graph();
  std::vector<protocol::NormWork> out;
  for (const run::NormWork& one : run::normWork(graph, analysis::findNorms(graph))) {
    out.push_back({one.name, std::string(run::normKindName(one.kind)), one.rows, one.width, one.reductions,
                   one.cost.additions, one.cost.multiplications, one.cost.divisions, one.cost.ticks(), one.welfordTicks,
                   one.bytes});
  }
  return out;
}

protocol::BenchMachine describeMachine(const MachineFacts& facts, const ClockRates& before, const ClockRates& after) {
  return {facts.cpu, facts.cores, before.cpuMhz, after.cpuMhz, facts.gpu, facts.driver, before.gpuMhz, after.gpuMhz};
}

SideNames namesOf(const formats::Model& model, std::string name) {
  return {std::move(name), run::normNodes(model.graph(), analysis::findNorms(model.graph()))};
}

std::string versions() {
  std::string all = std::string("NormLens ") + NORMLENS_VERSION;
  for (const auto& format : formats::formats()) {
    const bool onnx = format.name == "ONNX";
    if (format.runtime) all += (onnx ? ", ONNX Runtime " : ", LibTorch ") + *format.runtime;
  }
  return all;
}

Result<formats::RunSettings> settingsOf(const BenchParams& params) {
  formats::RunSettings settings;
  RETURN_IF_ERROR(formats::setDevice(settings, params.device));
  settings.threads = params.threads;
  settings.cudaGraph = params.cuda_graph;
  if (params.threads < 0) return fail(ErrorCode::Usage, "the number of threads must be at least 1");
  if (params.dtype.empty()) return settings;
  settings.dtype = graph::dtypeFromName(params.dtype);
  if (graph::isFloat(settings.dtype)) return settings;
  return fail(ErrorCode::Usage, "there is no floating type '" + params.dtype + "'",
              "float32, float16, bfloat16 or float64");
}

// Returns the first GPU that is measured on.
int gpuOf(const std::vector<run::SweepPoint>& points) {
  const auto onGpu = std::ranges::find_if(
      points, [](const run::SweepPoint& point) { return point.settings.device == formats::Device::Cuda; });
  return onGpu == points.end() ? 0 : onGpu->settings.gpu;
}

Result<std::vector<run::SweepPoint>> pointsOf(const BenchParams& params) {
  ASSIGN_OR_RETURN(const auto settings, settingsOf(params));
  auto points = run::sweepPoints(params.sweep, settings);
  if (!points) return points;
  const int gpu = gpuOf(*points);
  const auto onAnother = [gpu](const run::SweepPoint& point) {
    return point.settings.device == formats::Device::Cuda && point.settings.gpu != gpu;
  };
  if (std::ranges::any_of(*points, onAnother)) {
    return fail(ErrorCode::Usage, "a measurement reports the name and clocks of one GPU",
                "measure on each of them by itself");
  }
  return points;
}

class Measurement {
 public:
  Measurement(BenchModels& models, const BenchParams& params, const BenchListener& listener, const Task& task)
      : models_(models), params_(params), listener_(listener), task_(task) {}

  Result<BenchResult> run(const std::vector<run::SweepPoint>& points) {
    BenchResult& result = result_;
    const int gpu = gpuOf(points);
    const auto facts = machineFacts(gpu);
    const ClockReader clocks(gpu);
    const auto before = clocks.read();
    std::optional<Error> firstError;
    needShapes(*models_.a.model, models_.inputs, task_);
    // The work is that of the inputs as they were given, whatever is swept.
    result.work_a = workOf(*models_.a.model, models_.inputs, task_);
    if (models_.b.model != nullptr) result.work_b = workOf(*models_.b.model, models_.inputs, task_);
    tokenInput_ = tokenInput(models_.inputs, result.work_a);
    namesA_ = namesOf(*models_.a.model, params_.a);
    count_ = static_cast<int>(points.size());
    for (const run::SweepPoint& at : points) {
      index_ = static_cast<int>(result.points.size());
      BenchPoint point = describe(at);
      if (const Status done = measure(at, point); !done) {
        if (done.error().code == ErrorCode::Usage) return tl::unexpected(done.error());
        if (done.error().code == ErrorCode::Cancelled) {
          result.cancelled = true;
          break;
        }
        if (!firstError) firstError = done.error();
        point.error = withHint(done.error());
        reportPoint(point);
      }
      result.cancelled = point.error.empty() && !point.complete;
      result.points.push_back(std::move(point));
      if (result.cancelled) break;
    }
    const bool any = std::ranges::any_of(result.points, [](const BenchPoint& p) { return p.error.empty(); });
    if (!any && firstError) return tl::unexpected(*firstError);
    if (!any) return fail(ErrorCode::Cancelled, "stopped before anything was measured");
    result.machine = describeMachine(facts, before, clocks.read());
    result.versions = versions();
    result.taken = utcNow();
    return std::move(result_);
  }

 private:
  [[nodiscard]] BenchPoint describe(const run::SweepPoint& at) const {
    BenchPoint point;
    point.at = at.at;
    point.device = formats::deviceName(at.settings);
    point.cuda_graph = at.settings.cudaGraph;
    const bool asInFile = at.settings.dtype == graph::DType::Unknown;
    point.dtype = graph::dtypeName(asInFile ? models_.a.model->facts().dtype : at.settings.dtype);
    if (models_.b.model != nullptr) point.norm = at.norm ? formats::normFlavourName(*at.norm) : models_.b.norm;
    return point;
  }

  [[nodiscard]] Result<formats::Tensors> inputsAt(const run::SweepPoint& at) const {
    try {
      return run::inputsAt(at.sizes, models_.specs, models_.inputs);
    } catch (const std::bad_alloc&) {
      return fail(ErrorCode::RunFailed, "there is not enough memory for inputs of this size", "sweep smaller sizes");
    }
  }

  Status measure(const run::SweepPoint& at, BenchPoint& point) {
    ASSIGN_OR_RETURN(const auto inputs, inputsAt(at));
    if (!inputs.empty() && !inputs.front().view.shape.empty()) point.batch = inputs.front().view.shape.front();
    BenchModel flavour;
    if (at.norm) {
      ASSIGN_OR_RETURN(auto folded, models_.fold(*at.norm));
      flavour = std::move(folded);
    }
    BenchModel& b = at.norm ? flavour : models_.b;
    if (models_.fold) point.fold_ms = at.sizes.empty() ? b.foldMs : models_.timeFold(inputs).value_or(b.foldMs);
    std::optional<int64_t> tokens;
    if (tokenInput_) tokens = inputs[*tokenInput_].view.shape[0] * inputs[*tokenInput_].view.shape[1];
    if (b.model) needShapes(*b.model, models_.inputs, task_);
    const SideNames namesB = b.model ? namesOf(*b.model, params_.b) : SideNames{};
    auto last = std::chrono::steady_clock::time_point();
    run::BenchOptions options{.rounds = params_.rounds,
                              .iterations = params_.iterations,
                              .warmup = params_.warmup < 0 ? std::nullopt : std::optional(params_.warmup),
                              .untilPercent = params_.until_percent,
                              .settings = at.settings,
                              .onRound = [&](const run::BenchReport& soFar) {
                                const auto now = std::chrono::steady_clock::now();
                                if (now - last < kReportEvery) return;
                                last = now;
                                describeMeasured(soFar, namesA_, namesB, tokens, point);
                                reportPoint(point);
                              }};
    ASSIGN_OR_RETURN(const auto report, run::benchModels(*models_.a.model, b.model, inputs, options, task_));
    describeMeasured(report, namesA_, namesB, tokens, point);
    if (point.fold_ms) point.expected_speedup = expectedSpeedup(result_, point.a.norm_share);
    point.complete = report.complete;
    reportPoint(point);
    return {};
  }

  void reportPoint(const BenchPoint& point) const {
    if (listener_) listener_(index_, count_, point);
  }

  BenchModels& models_;
  const BenchParams& params_;
  const BenchListener& listener_;
  const Task& task_;
  BenchResult result_;
  SideNames namesA_;
  std::optional<size_t> tokenInput_;
  int index_ = 0, count_ = 1;
};

BenchModel kept(std::unique_ptr<formats::Model> made, std::string norm = {}, double foldMs = 0) {
  formats::Model* const model = made.get();
  return {model, std::move(made), std::move(norm), foldMs};
}

}  // namespace

void needShapes(formats::Model& model, const formats::Tensors& inputs, const Task& task) {
  const graph::Graph& graph = model.graph();
  const auto known = [&](graph::ValueId id) {
    if (id == graph::kNoValue || graph.value(id).shape) return true;
    const graph::DType dtype = graph.value(id).dtype;  // sizes and other numbers have no shape
    return dtype != graph::DType::Unknown && !graph::isFloat(dtype);
  };
  // Files declare the shapes of outputs, and a fold knows those of what its original had: neither says all.
  const auto readsKnown = [&](graph::NodeId id) { return std::ranges::all_of(graph.node(id).operands, known); };
  if (std::ranges::all_of(graph.outputs(), known) && std::ranges::all_of(graph.executionOrder(), readsKnown)) return;
  static_cast<void>(model.probe(inputs, task));
}

Status checkBenchParams(const BenchParams& params) {
  return pointsOf(params).map([](const auto&) {});
}

Result<BenchResult> measureModels(BenchModels models, const BenchParams& params, const BenchListener& listener,
                                  const Task& task) {
  ASSIGN_OR_RETURN(const auto points, pointsOf(params));
  if (points.front().norm && !models.fold) {
    return fail(ErrorCode::Usage, "norm flavors are swept by folding the first model",
                "measure the original against its fold");
  }
  return Measurement(models, params, listener, task).run(points);
}

// The last plan, written with these norms. The time is that of the analysis and of this writing.
Result<BenchModel> Service::State::foldedIn(formats::NormFlavour wanted, const Task& task) {
  if (!folded) return fail(ErrorCode::Usage, "nothing has been folded yet", "fold first, then measure");
  const std::string norm(formats::normFlavourName(wanted));
  const Stopwatch watch;
  if (wanted == flavour) {
    RETURN_IF_ERROR(folded->computeWeights(task));  // what the fold left for later belongs to its time
    times.fold_ms += watch.ms();
    return BenchModel{folded.get(), nullptr, norm, times.fold_ms};
  }
  ASSIGN_OR_RETURN(auto made, model->apply(toFoldPlan(plan), layerNorms(), wanted, task));
  RETURN_IF_ERROR(made->computeWeights(task));
  return kept(std::move(made), norm, times.analysis_ms + watch.ms());
}

Result<double> Service::State::timeFoldAt(const formats::Tensors& at, const Task& task) {
  constexpr int kFolds = 5;
  constexpr double kLongEnoughMs = 200;  // of a small model there are more: other programs may stop one
  if (plans->isFromFile()) return fail(ErrorCode::Unsupported, "a plan from a file is not made again");
  ASSIGN_OR_RETURN(const auto options, plans->options(foldParams.plan, flavour, task));
  ASSIGN_OR_RETURN(const auto copy, model->apply({}, layerNorms(), flavour, task));
  RETURN_IF_ERROR(copy->probe(at, task));
  std::vector<double> taken;
  for (const Stopwatch all; taken.size() < kFolds || all.ms() < kLongEnoughMs;) {
    const Stopwatch watch;
    ASSIGN_OR_RETURN(const auto found, analysis::analyze(copy->graph(), task));
    const auto foldPlan = toFoldPlan(analysis::makePlan(*found, options));
    ASSIGN_OR_RETURN(const auto made, copy->apply(foldPlan, found->norms.layerNorms, flavour, task));
    RETURN_IF_ERROR(made->computeWeights(task));
    taken.push_back(watch.ms());
  }
  return run::median(std::move(taken));
}

Result<BenchModel> Service::State::fusedSide(const Task& task) const {
  ASSIGN_OR_RETURN(auto fusing, fuseNorms(*model, inputs.tensors, false, task));
  if (!fusing.model) return fail(ErrorCode::Refused, fusing.reason + ", so there is no fused form to measure");
  return kept(std::move(fusing.model));
}

Result<BenchModel> Service::State::other(const std::string& path, const Task& task) const {
  if (path.empty() && !folded) return fail(ErrorCode::Usage, "nothing has been folded yet", "fold first");
  if (path.empty()) return BenchModel{folded.get(), nullptr, {}, 0};
  return formats::openModel(path, task, besides).map([](std::unique_ptr<formats::Model>&& opened) {
    return kept(std::move(opened));
  });
}

Result<BenchModel> Service::State::side(const std::string& name, const Task& task) {
  if (name.empty()) return BenchModel{};
  if (name == "original") return BenchModel{model.get(), nullptr, {}, 0};
  if (name == "fused") return fusedSide(task);
  const auto wanted = protocol::flavourOfFold(name);
  if (!wanted) return other(name, task);
  const auto known = wanted->empty() ? flavour : formats::normFlavourFromName(*wanted);
  if (!known) return fail(ErrorCode::Usage, "there is no norm flavor '" + *wanted + "'");
  return foldedIn(*known, task);
}

}  // namespace normlens::service
