#include "ui/session/session.h"

#include <algorithm>
#include <set>

#include "core/protocol/methods.h"
#include "ui/session/format.h"
#include "ui/session/plan_commands.h"

namespace normlens::ui {

namespace methods = protocol::methods;

Session::Session(EngineClient* engine, QObject* parent) : QObject(parent), engine_(engine) {
  connect(engine_, &EngineClient::progressed, this, [this](qint64 id, const QString& stage, double fraction) {
    if (id != job_.request || !busy()) return;
    job_.stage = stage;
    job_.fraction = fraction;
    Q_EMIT jobChanged();
  });
  connect(engine_, &EngineClient::engineDied, this, [this](const QString& reason) {
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
  job_ = {kind, 0, {}, -1};
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
  *id = engine_->request<T>(method, params, this, [this, id, done, failed](Reply<T>& reply) {
    if (*id != job_.request) return;  // superseded
    endJob();
    if (reply) {
      done(*reply);
      return;
    }
    if (reply.error().engineDied) return;  // told once, by engineLost
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
  if (!std::exchange(keepPlan_, false)) {
    params_ = {};
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
  params_ = {};
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

void Session::analyze() {
  runJob<protocol::Analysis>(JobKind::Analyzing, methods::kAnalyze, protocol::NoParams{},
                             [this](protocol::Analysis& analysis) { analyzed(std::move(analysis)); });
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
  if (!fold_) return;
  runJob<protocol::BenchResult>(JobKind::Measuring, methods::kBench, protocol::BenchParams{},
                                [this](const protocol::BenchResult& result) {
                                  bench_ = result;
                                  Q_EMIT benchChanged();
                                });
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

// ---- plan

void Session::pushParams(const protocol::PlanParams& params, const QString& text) {
  undo_.push(new ChangePlan(this, params_, params, text));  // owned by the stack, which calls replacePlanParams
}

void Session::replacePlanParams(const protocol::PlanParams& params) {
  params_ = params;
  plan_.reset();
  voidProof();
  Q_EMIT planChanged();
  requestPlan();
}

void Session::setPolicy(const QString& policy) {
  if (text(params_.policy) == policy) return;
  protocol::PlanParams params = params_;
  params.policy = policy.toStdString();
  pushParams(params, tr("policy %1").arg(policy));
}

void Session::centerValue(int value, bool centered) {
  protocol::PlanParams params = params_;
  std::erase(params.center_values, value);
  if (centered) params.center_values.push_back(value);
  if (params.center_values == params_.center_values) return;
  const protocol::GraphNode* producer = index_.producer(value);
  const QString where = producer != nullptr ? shortName(index_.nodeTitle(producer->id), 2) : QString::number(value);
  pushParams(params, centered ? tr("center the output of %1").arg(where) : tr("center %1 no more").arg(where));
}

void Session::keepNorms(const std::vector<int>& norms, bool keep) {
  if (norms.empty()) return;
  std::set<int> kept(params_.keep_norms.begin(), params_.keep_norms.end());
  for (const int norm : norms) {
    if (keep) {
      kept.insert(norm);
    } else {
      kept.erase(norm);
    }
  }
  protocol::PlanParams params = params_;
  params.keep_norms.assign(kept.begin(), kept.end());
  if (params.keep_norms == params_.keep_norms) return;
  const protocol::NormInfo* info = norm(norms.front());
  QString name = info != nullptr ? shortName(text(info->name), 2) : QString::number(norms.front());
  if (norms.size() > 1) name = tr("%n LayerNorms", nullptr, static_cast<int>(norms.size()));
  pushParams(params, keep ? tr("keep %1").arg(name) : tr("fold %1").arg(name));
}

std::vector<PlanRow> Session::planRows() const {
  if (!plan_) return {};
  return ui::planRows(offered_ ? *offered_ : *plan_, *plan_);
}

void Session::setEditOn(const protocol::EditInfo& edit, bool on) {
  const protocol::PlanParams params = toggled(params_, edit, on);
  if (params.keep_norms == params_.keep_norms) return;
  // "center wte.weight over 48 columns (copy: ...)": the head of it is enough for a menu.
  const QString what = text(edit.text).section(QLatin1String(" over "), 0, 0).section(QLatin1String(" ("), 0, 0);
  pushParams(params, (on ? tr("turn on: %1") : tr("turn off: %1")).arg(what));
}

void Session::foldAll() {
  protocol::PlanParams params = params_;
  params.policy = "all";
  params.keep_norms.clear();
  pushParams(params, tr("fold all"));
}

void Session::suggestBest() {
  protocol::PlanParams params;
  params.prices = "measured";
  pushParams(params, tr("suggest best"));
}

void Session::resetPlan() { pushParams({}, tr("reset the plan")); }

}  // namespace normlens::ui
