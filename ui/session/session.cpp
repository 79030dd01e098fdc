#include "ui/session/session.h"

#include <algorithm>

#include "core/protocol/bench_messages.h"
#include "core/protocol/methods.h"
#include "ui/session/difference_run.h"
#include "ui/session/forced_errors.h"
#include "ui/session/jobs/run_job.h"
#include "ui/session/jobs/streams.h"
#include "ui/session/left_out.h"
#include "ui/session/norm_costs.h"
#include "ui/session/probe_run.h"
#include "ui/session/project/input_presets.h"
#include "ui/session/report_run.h"
#include "ui/session/words/format.h"

namespace normlens::ui {

namespace methods = protocol::methods;

namespace {

bool sameEdits(const protocol::PlanInfo& a, const protocol::PlanInfo& b) {
  return std::ranges::equal(a.edits, b.edits, {}, &protocol::EditInfo::text, &protocol::EditInfo::text);
}

}  // namespace

Session::Session(EngineClient* engine, QObject* parent)
    : QObject(parent),
      engine_(engine),
      choices_(new PlanChoices(this)),
      preview_(new PlanPreview(this)),
      measurements_(new Measurements(this)),
      selection_(new GraphSelection(this)),
      leftOut_(new LeftOut(this)),
      costs_(new NormCosts(this)),
      forcedErrors_(new ForcedErrors(this)),
      probe_(new ProbeRun(this)),
      report_(new ReportRun(this)),
      streams_(new Streams(this)),
      differences_(new DifferenceRun(this)),
      jobQuestion_(engine, this),
      confirmationQuestion_(engine, this) {
  connect(choices_, &PlanChoices::changed, this, &Session::planChosen);
  connect(engine_, &EngineClient::progressed, this, [this](qint64 id, const QString& stage, double fraction) {
    if (confirmationQuestion_.is(id)) {
      confirmation_.stage = stage;
      confirmation_.fraction = fraction;
      Q_EMIT jobChanged();
      return;
    }
    if (!jobQuestion_.is(id)) return;
    job_.stage = stage;
    job_.fraction = fraction;
    remaining_.report(stage, fraction, clock_.elapsed());
    job_.remainingMs = remaining_.milliseconds();
    Q_EMIT jobChanged();
  });
  connect(engine_, &EngineClient::measured, this, [this](const protocol::BenchUpdate& update) {
    if (jobQuestion_.is(update.id) && job_.kind == JobKind::Measuring) measurements_->tell(update);
  });
  connect(engine_, &EngineClient::engineDied, this, [this](const QString& reason) {
    if (job_.kind == JobKind::Measuring) measurements_->end(std::nullopt);
    if (job_.kind == JobKind::Folding) voidProof();
    served_ = false;
    fatal_ = fatal_ || (recovering_ && engine_->failedStarts() == 0);
    recovering_ = false;
    dropConfirmation();
    endJob();
    Q_EMIT jobChanged();  // the engine takes other requests than before
    Q_EMIT engineLost(reason);
  });
}

// ---- jobs

void Session::startJob(JobKind kind) {
  jobQuestion_.drop();
  if (job_.kind == JobKind::Measuring) measurements_->end(std::nullopt);
  job_ = {kind, {}, -1, -1};
  clock_.start();
  remaining_.begin(0);
  Q_EMIT jobChanged();
}

void Session::endJob() {
  if (!busy()) return;
  jobQuestion_.drop();
  job_ = {};
  Q_EMIT jobChanged();
}

void Session::cancel() {
  if (busy()) return jobQuestion_.stop();
  if (confirmationQuestion_.pending()) return confirmationQuestion_.stop();
  cancelBeside();
}

void Session::startOpening(const QString& path, const QString& model) {
  if (engine_->state() == EngineClient::State::Stopped || engine_->state() == EngineClient::State::Dead) {
    engine_->start();
    served_ = false;
  }
  // An analysis that is cut short may leave the engine with the old inputs or with the new ones.
  const bool served = std::exchange(served_, false) && job_.kind != JobKind::Analyzing;
  protocol::OpenParams params;
  params.path = path.toStdString();
  params.model = model.toStdString();
  params.time_limit = limitSeconds_;
  params.memory_limit = limitBytes_;
  runJob(
      JobKind::Opening, methods::kOpen, params, [this](protocol::ModelInfo& info) { opened(std::move(info)); },
      // An engine that was stopped may have opened it all the same.
      [this, served](const EngineError& error) { notOpened(served && !error.cancelled()); });
}

void Session::analyze() {
  dropConfirmation();
  const Failed stopped = [this](const EngineError&) { dropAnalysis(); };
  if (nothingChosen(inputs_)) {
    runAnalysis(stopped);
    return;
  }
  runJob(
      JobKind::Analyzing, methods::kSetInputs, inputs_,
      [this, stopped](const protocol::InputsInfo&) { runAnalysis(stopped); },
      [this](const EngineError& error) {
        if (error.cancelled()) return dropAnalysis();  // resume() sends the same inputs
        // Inputs that do not fit any more are reported, and the engine guesses.
        inputs_ = {};
        Q_EMIT inputsChanged();
        analyzeGuessing();
      });
}

// The engine may still have inputs that were set and stopped.
void Session::analyzeGuessing() {
  const Failed stopped = [this](const EngineError&) { dropAnalysis(); };
  runJob(
      JobKind::Analyzing, methods::kSetInputs, protocol::InputsParams{},
      [this, stopped](const protocol::InputsInfo&) { runAnalysis(stopped); },
      [this, stopped](const EngineError& error) {
        if (error.cancelled()) return dropAnalysis();
        runAnalysis(stopped);  // a model without inputs is still one to look at
      });
}

void Session::runAnalysis(const Failed& failed) {
  foldServed_ = false;
  runJob(
      JobKind::Analyzing, methods::kAnalyze, protocol::AnalyzeParams{true},
      [this](protocol::Analysis& analysis) { analyzed(std::move(analysis)); }, failed);
}

// An analysis that was stopped or failed leaves the engine without the one before.
void Session::dropAnalysis() {
  if (!analysis_) return;
  voidProof();
  analysis_.reset();
  plan_.reset();
  offered_.reset();
  Q_EMIT analysisChanged();
  Q_EMIT planChanged();
}

void Session::setInputs(const protocol::InputsParams& inputs) {
  if (!model_ || !served_) return;
  const protocol::InputsParams before = inputs_;
  dropConfirmation();
  runJob(
      JobKind::Analyzing, methods::kSetInputs, inputs,
      [this, inputs, before](const protocol::InputsInfo&) {
        inputs_ = inputs;
        rememberInputs(presetName(), inputs);
        runAnalysis([this, before](const EngineError& error) {
          Q_EMIT inputsUnused(error.cancelled() ? QString() : asSentence(error.message));
          useInputsAgain(before);
        });
        Q_EMIT inputsChanged();
      },
      [this, before](const EngineError& error) {
        // Stopped, the engine may have taken them all the same.
        if (error.cancelled()) {
          engine_->request(methods::kSetInputs, before, this, [](const Reply<protocol::InputsInfo>&) {});
        }
        Q_EMIT inputsUnused(error.cancelled() ? QString() : asSentence(error.message));
        resume();  // a plan that was changed meanwhile
      });
}

void Session::guessInputs() {
  if (!model_ || !served_) return;
  inputs_ = {};
  rememberInputs(presetName(), inputs_);
  analyzeGuessing();
  Q_EMIT problemOver();
  Q_EMIT inputsChanged();
}

// The model cannot be run with them, or that was stopped: it is analyzed anew with those that it ran with.
void Session::useInputsAgain(const protocol::InputsParams& before) {
  inputs_ = before;
  rememberInputs(presetName(), before);
  Q_EMIT inputsChanged();
  if (nothingChosen(inputs_)) {
    analyzeGuessing();
  } else {
    analyze();
  }
}

void Session::planChosen() {
  if (plan_ && samePlan(plannedFor_, choices_->params()) && !busy()) return foldChosen();
  // While the engine is away the plan before is shown: there will be no other until it is back.
  if (engine_->state() != EngineClient::State::Dead) plan_.reset();
  statsCache_.clear();
  ++planRevision_;
  voidProof();
  Q_EMIT planChanged();
  requestPlan();
}

// Fold taken back, or done again, of the plan that is shown.
void Session::foldChosen() {
  if (choices_->folded() == fold_.has_value()) return;
  voidProof();
  showProofOfPlan();
  Q_EMIT planChanged();
  if (choices_->folded()) fold_ ? foldAgain() : fold();
}

void Session::requestPlan() {
  // A job that opens or analyzes requests the plan at its end.
  if (!analysis_ || !served_ || job_.kind == JobKind::Analyzing) return;
  runJob(JobKind::Planning, methods::kPlan, choices_->params(), [this](const protocol::PlanInfo& plan) {
    plan_ = plan;
    plannedFor_ = choices_->params();
    if (samePlan(plannedFor_, nothingKept(plannedFor_))) {
      offered_ = plan;
      offeredFor_ = choices_->params();
    }
    recovering_ = fatal_ = false;
    showProofOfPlan();
    Q_EMIT planChanged();
    restoreProject();
    foldAgain();
    confirm();
  });
  requestOffer();
}

// Requests the plan that would be if no norm were kept: it holds the edits that can be turned on again.
void Session::requestOffer() {
  const protocol::PlanParams params = nothingKept(choices_->params());
  if (samePlan(params, choices_->params()) || (offered_ && samePlan(offeredFor_, params))) return;
  offered_.reset();
  engine_->request(methods::kPlan, params, this, [this, params](const Reply<protocol::PlanInfo>& reply) {
    if (!reply || !sameOffer(params, choices_->params())) return;  // moved on
    offered_ = *reply;
    offeredFor_ = params;
    Q_EMIT planChanged();
  });
}

// An older proof and its measurements are shown until there is another one.
void Session::fold() {
  if (!analysis_) return;
  confirm();  // where it was stopped: a fold is of what a run has shown
  if (job_.kind == JobKind::Measuring) voidProof();
  protocol::FoldParams params;
  params.plan = choices_->params();
  params.norm = flavour_;
  params.verify = true;
  runJob(
      JobKind::Folding, methods::kFold, params,
      [this](const protocol::FoldResult& result) {
        voidProof();
        fold_ = result;
        foldServed_ = true;
        plan_ = result.plan;
        keepProof();
        choices_->setFolded(static_cast<int>(result.plan.folded.size()));
        Q_EMIT planChanged();
        Q_EMIT foldChanged();
      },
      [this](const EngineError&) { voidProof(); });
}

void Session::keepProof() {
  constexpr size_t kMostProofs = 32;
  provedWith_ = inputs_;
  std::erase_if(proofs_, [this](const Proof& proof) { return isOfPlan(proof); });
  if (proofs_.size() == kMostProofs) proofs_.erase(proofs_.begin());
  proofs_.push_back({choices_->params(), flavour_, *fold_, std::nullopt});
}

bool Session::isOfPlan(const Proof& proof) const {
  return proof.flavour == flavour_ && samePlan(proof.params, choices_->params());
}

// Shows the kept proof of a plan that is to be folded and was proved; the engine has yet to make the fold anew.
void Session::showProofOfPlan() {
  if (!choices_->folded() || fold_ || !plan_) return;
  const auto known = std::ranges::find_if(
      proofs_, [this](const Proof& proof) { return isOfPlan(proof) && sameEdits(proof.result.plan, *plan_); });
  if (known == proofs_.end()) return;
  fold_ = known->result;
  exported_ = known->exported;
  foldServed_ = false;
  Q_EMIT foldChanged();
}

// A proof from before the engine had to be started again holds for the same file and the same edits; the engine has to
// make the fold anew, to write it, measure it or show it.
void Session::foldAgain() {
  if (!fold_ || foldServed_) return;
  protocol::FoldParams params;
  params.plan = choices_->params();
  params.norm = flavour_;
  params.verify = false;
  runJob(
      JobKind::Folding, methods::kFold, params,
      [this](const protocol::FoldResult& result) {
        foldServed_ = fold_ && sameEdits(result.plan, fold_->plan);
        if (!foldServed_) voidProof();
      },
      [this](const EngineError&) { voidProof(); });
}

// A fold is there once one was made; all else can be made from the open model.
bool Session::hasSides() const { return !measurements_->wantsFold() || (fold_ && !fold_->plan.folded.empty()); }

void Session::measure() {
  if (!analysis_ || !hasSides()) return;
  runJob(
      JobKind::Measuring, methods::kBench, measurements_->params(),
      [this](protocol::BenchResult& result) { measurements_->end(std::move(result)); },
      [this](const EngineError&) { measurements_->end(std::nullopt); });
}

void Session::setFlavour(const QString& norm) {
  if (norm.toStdString() == flavour_) return;
  flavour_ = norm.toStdString();
  voidProof();
  showProofOfPlan();
  foldAgain();
}

}  // namespace normlens::ui
