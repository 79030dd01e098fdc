#include "app/engine/bindings.h"

#include <unistd.h>

#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

#include "app/engine/verbs/report/last_fold.h"
#include "core/base/machine.h"
#include "core/base/stopwatch.h"
#include "core/lab/train.h"
#include "core/protocol/bench_messages.h"
#include "core/protocol/dispatcher.h"
#include "core/protocol/lab_messages.h"
#include "core/service/bench.h"
#include "core/service/describe/engine_info.h"

namespace normlens::engine {
namespace {

using namespace protocol;  // the messages

// Holds the run of the laboratory that goes on, and passes the window's control messages to it.
// Thread: train() on the thread of requests, hear() on any.
class LabDesk {
 public:
  [[nodiscard]] Result<lab::RunResult> train(const protocol::LabParams& params, const Task& task, int64_t id,
                                             const protocol::Dispatcher::Notify& notify);
  void hear(const protocol::LabControl& control);  // without a run: nothing

 private:
  struct Running {
    std::stop_source stop;
    lab::PauseSwitch pause;
  };
  std::mutex mutex_;
  std::optional<Running> running_;  // in the middle of train()
};

Result<lab::RunResult> LabDesk::train(const LabParams& params, const Task& task, int64_t id,
                                      const Dispatcher::Notify& notify) {
  {
    const std::scoped_lock lock(mutex_);
    running_.emplace();
  }
  const std::stop_callback cancelled(task.stop, [this] { hear({.what = lab::RunWish::Stop}); });
  const lab::RunControl control{
      .onRecord =
          [&](const lab::RunRecord& record) {
            notify(methods::kLabUpdate, toJson(LabUpdate{id, record}));
          },
      .stop = running_->stop.get_token(),
      .pause = &running_->pause,
  };
  auto result = lab::train(params.settings, {.name = params.name, .folder = params.folder}, control);
  const std::scoped_lock lock(mutex_);
  running_.reset();
  return result;
}

void LabDesk::hear(const LabControl& control) {
  const std::scoped_lock lock(mutex_);
  if (!running_) return;
  if (control.what == lab::RunWish::Pause) running_->pause.pause();
  if (control.what == lab::RunWish::Continue) running_->pause.goOn();
  if (control.what == lab::RunWish::Stop) running_->stop.request_stop();
}

Result<EngineInfo> initialize(const InitializeParams& params, confine::Confinement level) {
  if (params.protocol != kProtocolVersion) {
    return fail(ErrorCode::Unsupported,
                "this engine (" + service::engineInfo().version + ", protocol " + std::to_string(kProtocolVersion) +
                    ") is " + (kProtocolVersion < params.protocol ? "older" : "newer") + " than the window (protocol " +
                    std::to_string(params.protocol) + ")",
                "install the same version of both");
  }
  EngineInfo info = service::engineInfo();
  info.pid = ::getppid();  // the client's end of the engine: this process is one of several, each for a model
  info.confinement = confine::confinementName(level);
  info.unconfined = confine::whatIsMissing(level, !gpuDevices().empty());
  return info;
}

Result<ModelInfo> open(service::Service& service, const OpenParams& params, const Task& task) {
  auto info = service.open(params.path, task, params.model);
  if (info) service.setInputs({.npz = params.inputs, .specs = {}, .sizes = {}});
  return info;
}

// Adds the time of a proof, which the window shows and a project keeps.
Result<FoldResult> fold(service::Service& service, const FoldParams& params, const Task& task) {
  ASSIGN_OR_RETURN(auto result, service.fold(params, task));
  if (result.verify && result.verify->exact == true) result.proved = utcNow();
  return result;
}

// Without any parameter the inputs are guessed: those set before are dropped, even where nothing can be guessed from.
Result<InputsInfo> setInputs(service::Service& service, const InputsParams& params) {
  if (params.npz.empty() && params.specs.empty()) service.setInputs({});
  return service.chooseInputs(params);
}

}  // namespace

void bindMethods(Dispatcher& to, service::Service& s, confine::Confinement level) {
  to.bind(methods::kInitialize, [level](const auto& p, const Task&) { return initialize(p, level); });
  to.bind(methods::kCheckGpu, [](const auto&, const Task&) { return service::checkGpu(); });
  to.bind(methods::kOpen, [&](const auto& p, const Task& task) { return open(s, p, task); });
  to.bind(methods::kReadGraph, [&](const auto& p, const Task& task) { return s.readGraph(p, task); });
  to.bind(methods::kWeightDigests, [&](const auto& p, const Task& task) { return s.weightDigests(p, task); });
  to.bind(methods::kWeightChanges, [&](const auto& p, const Task& task) { return s.weightChanges(p, task); });
  to.bind(methods::kAnalyze, [&](const auto& p, const Task& task) { return s.analyze(task, p); });
  to.bind(methods::kZeroMeanGraph, [&](const auto& p, const Task&) { return s.zeroMeanGraph(p); });
  to.bind(methods::kZeroMeanMap, [&](const auto& p, const Task& t) { return s.zeroMeanMap(p, t); });
  to.bind(methods::kShiftCone, [&](const auto& p, const Task& t) { return s.shiftCone(p, t); });
  to.bind(methods::kPlan, [&](const auto& p, const Task& t) { return s.plan(p, t); });
  to.bind(methods::kNormPrices, [&](const auto& p, const Task& t) { return s.normPrices(p, t); });
  to.bind(methods::kPreviewCenter, [&](const auto& p, const Task&) { return s.previewCenter(p); });
  to.bind(methods::kFold, [&](const auto& p, const Task& task) { return fold(s, p, task); });
  to.bind(methods::kSourceHash, [&](const auto&, const Task& task) { return s.sourceHash(task); });
  to.bind(methods::kPlanText, [&](const auto&, const Task&) {
    return s.planText().map([](std::string&& text) { return PlanText{std::move(text)}; });
  });
  to.bind(methods::kTargets, [&](const auto&, const Task&) { return s.targets(); });
  to.bind(methods::kExport, [&](const auto& p, const Task& task) { return s.exportTo(p, task); });
  to.bind(methods::kBench, [&](const BenchParams& p, const Task& task, int64_t id, const Dispatcher::Notify& notify) {
    const auto report = [&](int index, int points, const BenchPoint& now) {
      notify(methods::kBenchUpdate, toJson(BenchUpdate{id, index, points, now}));
    };
    return s.bench(p, report, task);
  });
  to.bind(methods::kDiff, [&](const auto& p, const Task& task) { return s.diff(p, task); });
  to.bind(methods::kForcedError, [&](const auto& p, const Task& task) { return s.forcedError(p, task); });
  to.bind(methods::kProbe, [&](const auto& p, const Task& task) { return s.probe(p, task); });
  to.bind(methods::kProbeSwaps, [&](const auto& p, const Task& task) { return s.probeSwaps(p, task); });
  to.bind(methods::kStreams, [&](const auto& p, const Task& task) { return s.streams(p, task); });
  to.bind(methods::kNarrow, [&](const auto& p, const Task& task) { return s.writeNarrow(p, task); });
  to.bind(methods::kReport, [&](const auto& p, const Task& task) { return report::reportOfLastFold(s, p, task); });
  to.bind(methods::kTensorPair, [&](const auto& p, const Task& task) { return s.tensorPair(p, task); });
  to.bind(methods::kTensorStats, [&](const auto& p, const Task& task) { return s.tensorStats(p, task); });
  to.bind(methods::kPartialCentering, [&](const auto& p, const Task& task) { return s.partialCentering(p, task); });
  to.bind(methods::kCenteringCut, [&](const auto& p, const Task& task) { return s.centeringCut(p, task); });
  to.bind(methods::kSaveTensor, [&](const auto& p, const Task& task) { return s.saveTensor(p, task); });
  const auto desk = std::make_shared<LabDesk>();
  to.bind(methods::kLab, [desk](const LabParams& p, const Task& task, int64_t id, const Dispatcher::Notify& notify) {
    return desk->train(p, task, id, notify);
  });
  to.hear<LabControl>(methods::kLabControl, [desk](const LabControl& control) { desk->hear(control); });
  to.bind(methods::kSetInputs, [&](const auto& p, const Task&) { return setInputs(s, p); });
}

}  // namespace normlens::engine
