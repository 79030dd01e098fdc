#include "ui/session/session.h"

#include <algorithm>

#include "core/protocol/bench_fields.h"
#include "core/protocol/methods.h"
#include "ui/session/format.h"
#include "ui/session/input_presets.h"

namespace normlens::ui {

namespace methods = protocol::methods;

namespace {

bool noInputs(const protocol::InputsParams& inputs) { return inputs.npz.empty() && inputs.specs.empty(); }

}  // namespace

Session::Session(EngineClient* engine, QObject* parent) : QObject(parent), engine_(engine) {
  connect(engine_, &EngineClient::progressed, this, [this](qint64 id, const QString& stage, double fraction) {
    if (id != job_.request || !busy()) return;
    job_.stage = stage;
    job_.fraction = fraction;
    remaining_.report(stage, fraction, clock_.elapsed());
    job_.remainingMs = remaining_.milliseconds();
    Q_EMIT jobChanged();
  });
  connect(engine_, &EngineClient::measured, this, [this](const protocol::BenchUpdate& update) {
    if (update.id != job_.request || job_.kind != JobKind::Measuring) return;
    benchLive_.put(update);
    Q_EMIT benchProgressed();
  });
  connect(engine_, &EngineClient::engineDied, this, [this](const QString& reason) {
    if (job_.kind == JobKind::Measuring) benchEnded(std::nullopt);
    endJob();
    Q_EMIT engineLost(reason);
  });
}

// ---- state

const protocol::NormInfo* Session::norm(int index) const {
  if (!analysis_) return nullptr;
  const auto& norms = analysis_->norms;
  // They come in order of execution, so the place is nearly always the index.
  if (index >= 0 && static_cast<size_t>(index) < norms.size() && norms[static_cast<size_t>(index)].index == index) {
    return &norms[static_cast<size_t>(index)];
  }
  const auto found = std::find_if(norms.begin(), norms.end(), [&](const auto& n) { return n.index == index; });
  return found == norms.end() ? nullptr : &*found;
}

int Session::normNamed(const QString& name) const {
  if (!analysis_) return -1;
  int byEnd = -1;
  for (const protocol::NormInfo& norm : analysis_->norms) {
    const QString full = text(norm.name);
    if (full == name) return norm.index;
    if (byEnd < 0 && full.endsWith(u'.' + name)) byEnd = norm.index;
  }
  return byEnd;
}

bool Session::folds(int norm) const {
  return plan_ && std::find(plan_->folded.begin(), plan_->folded.end(), norm) != plan_->folded.end();
}

int Session::inputOfNorm(int index) const {
  const protocol::NormInfo* info = norm(index);
  if (info == nullptr) return -1;
  // A decomposed norm reads its input at its first member.
  for (const protocol::GraphNode& node : index_.graph().nodes) {
    if (node.norm != index && node.id != info->node) continue;
    for (const int input : node.inputs) {
      const protocol::GraphValue* value = index_.value(input);
      if (value != nullptr && !value->constant) return input;
    }
  }
  return -1;
}

// ---- jobs

void Session::startJob(JobKind kind) {
  if (busy()) engine_->cancel(job_.request);
  if (job_.kind == JobKind::Measuring) benchEnded(std::nullopt);
  job_ = {kind, 0, {}, -1, -1};
  clock_.start();
  remaining_.begin(0);
  Q_EMIT jobChanged();
}

void Session::endJob() {
  if (!busy()) return;
  job_ = {};
  Q_EMIT jobChanged();
}

template <class T, class Params>
void Session::runJob(JobKind kind, std::string_view method, const Params& params, std::function<void(T&)> done,
                     std::function<void()> failed) {
  startJob(kind);
  auto id = std::make_shared<EngineClient::RequestId>(0);
  *id = engine_->request<T>(method, params, this, [this, id, kind, done, failed](Reply<T>& reply) {
    if (*id != job_.request) return;  // superseded
    endJob();
    if (reply) {
      done(*reply);
      return;
    }
    if (reply.error().engineDied) {  // told once, by engineLost
      if (kind == JobKind::Measuring) failed();
      return;
    }
    if (!reply.error().cancelled()) Q_EMIT problem(asSentence(reply.error().message), asSentence(reply.error().hint));
    if (failed) failed();
  });
  job_.request = *id;
}

void Session::cancel() {
  if (busy()) engine_->cancel(job_.request);
}

void Session::open(const QString& path) {
  path_ = path;
  restoring_.reset();
  if (!std::exchange(keepPlan_, false)) {
    params_ = {};
    inputs_ = {};
    undo_.clear();
    clearModel();
  }
  if (engine_->state() == EngineClient::State::Stopped || engine_->state() == EngineClient::State::Dead)
    engine_->start();
  protocol::OpenParams params;
  params.path = path.toStdString();
  runJob<protocol::ModelInfo>(
      JobKind::Opening, methods::kOpen, params, [this](protocol::ModelInfo& info) { opened(std::move(info)); },
      [this] { Q_EMIT openFailed(); });
}

void Session::close() {
  cancel();
  endJob();
  path_.clear();
  restoring_.reset();
  params_ = {};
  inputs_ = {};
  undo_.clear();
  clearModel();
}

void Session::resume() {
  if (!model_ || busy()) return;
  if (!analysis_) {
    analyze();
  } else if (!plan_) {
    requestPlan();
  }
}

void Session::recover() {
  engine_->start();
  if (path_.isEmpty()) return;
  keepPlan_ = true;
  open(path_);
}

void Session::openProject(const Project& project) {
  open(project.model.path);
  restoring_ = project;
}

void Session::analyze() {
  if (noInputs(inputs_)) {
    runAnalysis();
    return;
  }
  // What does not fit any more is told, and the engine guesses.
  runJob<protocol::InputsInfo>(
      JobKind::Analyzing, methods::kSetInputs, inputs_, [this](const protocol::InputsInfo&) { runAnalysis(); },
      [this] {
        inputs_ = {};
        Q_EMIT inputsChanged();
        runAnalysis();
      });
}

void Session::runAnalysis(std::function<void()> failed) {
  runJob<protocol::Analysis>(
      JobKind::Analyzing, methods::kAnalyze, protocol::NoParams{},
      [this](protocol::Analysis& analysis) { analyzed(std::move(analysis)); }, std::move(failed));
}

void Session::setInputs(const protocol::InputsParams& inputs) {
  if (!model_) return;
  const protocol::InputsParams before = inputs_;
  runJob<protocol::InputsInfo>(JobKind::Analyzing, methods::kSetInputs, inputs,
                               [this, inputs, before](const protocol::InputsInfo&) {
                                 inputs_ = inputs;
                                 rememberInputs(path_, inputs);
                                 voidProof();
                                 Q_EMIT inputsChanged();
                                 runAnalysis([this, before] { inputsRefused(before); });
                               });
}

// The model cannot be run with them: the engine gets those back that it ran with.
void Session::inputsRefused(const protocol::InputsParams& before) {
  inputs_ = before;
  rememberInputs(path_, before);
  engine_->request<protocol::InputsInfo>(methods::kSetInputs, before, this, [](const Reply<protocol::InputsInfo>&) {});
  Q_EMIT inputsChanged();
}

void Session::requestPlan() {
  if (!analysis_) return;
  runJob<protocol::PlanInfo>(JobKind::Planning, methods::kPlan, params_, [this](const protocol::PlanInfo& plan) {
    plan_ = plan;
    if (params_.keep_norms.empty()) {
      offered_ = plan;
      offeredFor_ = params_;
    }
    Q_EMIT planChanged();
    restoreProject();
  });
  requestOffer();
}

// What the plan would hold if no norm were kept: the edits that can be turned on again.
void Session::requestOffer() {
  if (params_.keep_norms.empty() || (offered_ && sameOffer(offeredFor_, params_))) return;
  offered_.reset();
  protocol::PlanParams params = params_;
  params.keep_norms.clear();
  engine_->request<protocol::PlanInfo>(methods::kPlan, params, this,
                                       [this, params](const Reply<protocol::PlanInfo>& reply) {
                                         if (!reply || !sameOffer(params, params_)) return;  // moved on
                                         offered_ = *reply;
                                         offeredFor_ = params;
                                         Q_EMIT planChanged();
                                       });
}

void Session::fold() {
  if (!analysis_) return;
  voidProof();
  protocol::FoldParams params;
  params.plan = params_;
  params.norm = flavour_;
  params.verify = true;
  runJob<protocol::FoldResult>(JobKind::Folding, methods::kFold, params, [this](const protocol::FoldResult& result) {
    fold_ = result;
    plan_ = result.plan;
    Q_EMIT planChanged();
    Q_EMIT foldChanged();
  });
}

void Session::measure() {
  if (!analysis_ || !hasSides()) return;
  runJob<protocol::BenchResult>(
      JobKind::Measuring, methods::kBench, benchParams_,
      [this](protocol::BenchResult& result) { benchEnded(std::move(result)); }, [this] { benchEnded(std::nullopt); });
}

void Session::setFlavour(const QString& norm) {
  if (norm.toStdString() == flavour_) return;
  flavour_ = norm.toStdString();
  voidProof();
}

void Session::exportTo(const QString& path, bool force) {
  if (!fold_) return;
  protocol::ExportParams params;
  params.path = path.toStdString();
  params.norm = flavour_;
  params.force = force;
  runJob<protocol::ExportResult>(JobKind::Exporting, methods::kExport, params,
                                 [this](const protocol::ExportResult& result) {
                                   exported_ = result;
                                   Q_EMIT exportDone();
                                 });
}

void Session::saveTensor(int value, const QString& path) {
  protocol::SaveTensorParams params;
  params.value = value;
  params.path = path.toStdString();
  runJob<protocol::SavedTensor>(
      JobKind::SavingTensor, methods::kSaveTensor, params,
      [this](const protocol::SavedTensor& saved) { Q_EMIT tensorSaved(text(saved.path), saved.bytes); });
}

}  // namespace normlens::ui
