#include "ui/session/session.h"

#include <QFileInfo>
#include <algorithm>
#include <utility>

#include "core/protocol/bench_messages.h"
#include "core/protocol/methods.h"
#include "ui/client/placed_file.h"
#include "ui/session/difference_run.h"
#include "ui/session/files/file_courier.h"
#include "ui/session/forced_errors.h"
#include "ui/session/norm_costs.h"
#include "ui/session/plan_preview.h"
#include "ui/session/probe_run.h"
#include "ui/session/project/input_presets.h"
#include "ui/session/project/recent_files.h"
#include "ui/session/report_run.h"
#include "ui/session/streams.h"
#include "ui/words/format.h"
#include "ui/words/hint_words.h"

namespace normlens::ui {

namespace methods = protocol::methods;

Session::Session(EngineClient* engine, QObject* parent)
    : QObject(parent),
      engine_(engine),
      courier_(new FileCourier(engine, this)),
      choices_(new PlanChoices(this)),
      preview_(new PlanPreview(this)),
      measurements_(new Measurements(this)),
      selection_(new GraphSelection(this)),
      leftOut_(new LeftOut(this)),
      costs_(new NormCosts(this)),
      forcedErrors_(new ForcedErrors(this)),
      probe_(new ProbeRun(this)),
      swaps_(new SwapRun(this)),
      report_(new ReportRun(this)),
      streams_(new Streams(this)),
      differences_(new DifferenceRun(this)),
      beside_{{report_, JobKind::Reporting},
              {swaps_, JobKind::Probing},
              {forcedErrors_, JobKind::Comparing},
              {differences_, JobKind::Comparing}},
      jobQuestion_(engine, this),
      confirmationQuestion_(engine, this) {
  connect(choices_, &PlanChoices::changed, this, &Session::planChosen);
  const auto progressed = [this](const QString& stage, double fraction) {
    job_.stage = stage;
    job_.fraction = fraction;
    remaining_.report(stage, fraction, clock_.elapsed());
    job_.remainingMs = remaining_.milliseconds();
    Q_EMIT jobChanged();
  };
  connect(courier_, &FileCourier::progressed, this, progressed);
  connect(engine_, &EngineClient::progressed, this,
          [this, progressed](qint64 id, const QString& stage, double fraction) {
            if (confirmationQuestion_.is(id)) {
              confirmation_.stage = stage;
              confirmation_.fraction = fraction;
              Q_EMIT jobChanged();
              return;
            }
            if (jobQuestion_.is(id)) progressed(stage, fraction);
          });
  connect(engine_, &EngineClient::measured, this, [this](const protocol::BenchUpdate& update) {
    if (jobQuestion_.is(update.id) && job_.kind == JobKind::Measuring) measurements_->add(update);
  });
  connect(engine_, &EngineClient::engineDied, this, [this](const QString& reason) {
    if (job_.kind == JobKind::Measuring) measurements_->end(std::nullopt);
    if (job_.kind == JobKind::Folding) {
      dropExport();
      voidProof();
    }
    opening_.fatal = opening_.fatal || (opening_.recovering && engine_->failedStarts() == 0);
    opening_.served = opening_.recovering = false;
    dropConfirmation();
    endJob();
    Q_EMIT jobChanged();  // the engine takes other requests than before
    Q_EMIT engineLost(reason);
  });
}

// ---- jobs

void Session::jobFailed(const Job& ended, const EngineError& error, const Failed& failed) {
  if (error.engineDied && ended.kind != JobKind::Measuring) return;  // reported once, by engineLost
  if (error.engineDied) return failed(error);
  if (error.cancelled()) {
    Q_EMIT stopped(ended);
  } else {
    QString message = error.message;
    if (!shownAs_.first.isEmpty()) message.replace(shownAs_.first, shownAs_.second);
    Q_EMIT problem(asSentence(message), asSentence(error.hint));
  }
  if (failed) failed(error);
}

void Session::startJob(JobKind kind) {
  jobQuestion_.drop();
  courier_->drop();
  if (job_.kind == JobKind::Measuring) measurements_->end(std::nullopt);
  job_ = {kind, {}, -1, -1};
  clock_.start();
  remaining_.begin(0);
  Q_EMIT jobChanged();
}

void Session::endJob() {
  if (!busy()) return;
  jobQuestion_.drop();
  courier_->drop();
  job_ = {};
  Q_EMIT jobChanged();
}

void Session::cancel() {
  if (!canStop()) return;
  if (busy()) {
    job_.stopping = true;
    Q_EMIT jobChanged();
    return courier_->running() ? courier_->stop() : jobQuestion_.stop();
  }
  if (confirmationQuestion_.pending()) {
    confirmation_.stopping = true;
    Q_EMIT jobChanged();
    return confirmationQuestion_.stop();
  }
  const Job besides = running();
  for (const auto& [run, kind] : beside_) {
    if (!run->running()) continue;
    run->stop();
    return Q_EMIT stopped(besides);
  }
}

void Session::startOpening(const QString& path, const QString& model) {
  if (engine_->state() == EngineClient::State::Stopped || engine_->state() == EngineClient::State::Dead) {
    engine_->start();
    opening_.served = false;
  }
  // An analysis that is cut short may leave the engine with the old inputs or with the new ones.
  const bool served = std::exchange(opening_.served, false) && job_.kind != JobKind::Analyzing;
  // An engine that was stopped may have opened it all the same.
  const Failed failed = [this, served](const EngineError& error) { notOpened(served && !error.cancelled()); };
  const QString machine = machineOf(path), host = engine_->host();
  if (!machine.isEmpty() && machine != host) {
    startJob(JobKind::Opening);
    Q_EMIT problem(tr("%1 is on %2.").arg(path, machine),
                   tr("Choose that connection in Preferences, and open it again."));
    endJob();
    return notOpened(served);
  }
  if (!machine.isEmpty() || host.isEmpty()) return openThere(path, pathThere(path), model, failed);
  startJob(JobKind::Opening);
  courier_->send(path, [this, path, model, failed](const Reply<QString>& there) {
    const Job ended = job_;
    endJob();
    there ? openThere(path, *there, model, failed) : jobFailed(ended, there.error(), failed);
  });
}

void Session::openThere(const QString& path, const QString& there, const QString& model, const Failed& failed) {
  shownAs_ = {there, path};
  protocol::OpenParams params;
  params.path = there.toStdString();
  params.model = model.toStdString();
  params.time_limit = limitSeconds_;
  params.memory_limit = limitBytes_;
  runJob(
      JobKind::Opening, methods::kOpen, params, [this](protocol::ModelInfo& info) { opened(std::move(info)); }, failed);
}

void Session::analyze() {
  dropConfirmation();
  const Failed stopped = [this](const EngineError&) { dropAnalysis(); };
  if (nothingChosen(inputs_)) return runAnalysis(stopped);
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
  plan_.clear();
  Q_EMIT analysisChanged();
  Q_EMIT planChanged();
}

void Session::setInputs(const protocol::InputsParams& inputs) {
  if (!model_ || !opening_.served) return;
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
  if (!model_ || !opening_.served) return;
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
  nothingChosen(inputs_) ? analyzeGuessing() : analyze();
}

void Session::planChosen() {
  if (plan_.isFor(choices_->params()) && !busy()) return foldChosen();
  // While the engine is away the plan before is shown: there will be no other until it is back.
  if (engine_->state() != EngineClient::State::Dead) plan_.dropPlan();
  statsCache_.clear();
  ++planRevision_;
  dropExport();
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
  if (!analysis_ || !opening_.served || job_.kind == JobKind::Analyzing) return;
  runJob(JobKind::Planning, methods::kPlan, choices_->params(), [this](const protocol::PlanInfo& plan) {
    plan_.take(plan, choices_->params());
    opening_.recovering = opening_.fatal = false;
    showProofOfPlan();
    Q_EMIT planChanged();
    restoreProject();
    foldAgain();
    fetchWritten();
    confirm();
  });
  requestOffer();
}

void Session::requestOffer() {
  const protocol::PlanParams params = nothingKept(choices_->params());
  if (samePlan(params, choices_->params()) || plan_.hasOfferFor(params)) return;
  plan_.dropOffer();
  engine_->request(methods::kPlan, params, this, [this, params](const Reply<protocol::PlanInfo>& reply) {
    if (!reply || !sameOffer(params, choices_->params())) return;  // moved on
    plan_.takeOffer(*reply, params);
    Q_EMIT planChanged();
  });
}

protocol::FoldParams Session::foldParams(bool verify) const {
  protocol::FoldParams params;
  params.plan = choices_->params();
  params.norm = flavour_;
  params.verify = verify;
  return params;
}

// An older proof and its measurements are shown until there is another one.
void Session::fold() {
  if (!analysis_) return;
  confirm();  // where it was stopped: a fold is of what a run has shown
  if (!fold_) {
    showProofOfPlan();
    if (fold_) return foldAgain();
  }
  if (job_.kind == JobKind::Measuring) voidProof();
  runJob(
      JobKind::Folding, methods::kFold, foldParams(true),
      [this](const protocol::FoldResult& result) {
        voidProof();
        fold_ = result;
        foldServed_ = true;
        plan_.takeFolded(result.plan);
        proofs_.keep({choices_->params(), flavour_, result, std::nullopt}, inputs_);
        choices_->setFolded(static_cast<int>(result.plan.folded.size()));
        Q_EMIT planChanged();
        Q_EMIT foldChanged();
        writeNext();
      },
      [this](const EngineError& error) { notFolded(error.cancelled()); });
}

// The norm is again the one that was set before the target's.
void Session::dropExport() {
  if (const auto dropped = std::exchange(toWrite_, std::nullopt)) flavour_ = dropped->before;
}

// What was proved before stays proved; the engine may have begun another fold, so it makes that one anew.
void Session::notFolded(bool stopped) {
  const bool exporting = toWrite_.has_value();
  dropExport();
  voidProof();
  if (!stopped && !exporting) return;
  showProofOfPlan();
  foldAgain();
}

// Shows the kept proof of a plan that is to be folded and was proved; the engine has yet to make the fold anew.
void Session::showProofOfPlan() {
  if (!choices_->folded() || fold_ || !plan()) return;
  const Proof* known = proofs_.of(choices_->params(), flavour_);
  if (known == nullptr || !sameEdits(known->result.plan, *plan())) return;
  fold_ = known->result;
  exported_ = known->exported;
  if (known->measured) measurements_->bringBack(*known->measured);
  foldServed_ = false;
  Q_EMIT foldChanged();
}

// A proof from before the engine had to be started again holds for the same file and the same edits; the engine has to
// make the fold anew, to write it, measure it or show it.
void Session::foldAgain() {
  if (!fold_ || foldServed_) return;
  runJob(
      JobKind::Folding, methods::kFold, foldParams(false),
      [this](const protocol::FoldResult& result) {
        foldServed_ = fold_ && sameEdits(result.plan, fold_->plan);
        if (!foldServed_) voidProof();
        writeNext();
        fetchWritten();
      },
      // It is left until Fold is pressed: showProofOfPlan() has it.
      [this](const EngineError& error) { toWrite_ ? notFolded(error.cancelled()) : voidProof(); });
}

// A fold is there once one was made; all else can be made from the open model.
bool Session::hasSides() const { return !measurements_->wantsFold() || (fold_ && !fold_->plan.folded.empty()); }

void Session::measure() {
  if (!analysis_ || !hasSides()) return;
  measurements_->beginWith(inputs_);
  const auto end = [this](std::optional<protocol::BenchResult> result) {
    measurements_->end(std::move(result));
    if (Proof* proof = fold_ ? proofs_.of(choices_->params(), flavour_) : nullptr)
      proof->measured = measurements_->last();
  };
  runJob(
      JobKind::Measuring, methods::kBench, measurements_->params(),
      [end](protocol::BenchResult& result) { end(std::move(result)); },
      [end](const EngineError&) { end(std::nullopt); });
}

void Session::setFlavour(const QString& norm) {
  if (norm.toStdString() == flavour_) return;
  flavour_ = norm.toStdString();
  voidProof();
  showProofOfPlan();
  foldAgain();
}

// ---- which model it is about. The model shown stays until the one that was requested was read

void Session::open(const QString& path, const QString& model) { ask({path, model, std::nullopt}); }

void Session::openProject(const Project& project) { ask({project.model.path, project.model.name, project}); }

void Session::ask(Opening::Wanted wanted) {
  // A whole path that is none of this machine is the engine's.
  const bool there = wanted.path.startsWith(u'/') && !QFileInfo::exists(wanted.path);
  if (there) wanted.path = placedOn(engine_->host(), wanted.path);
  const QString path = wanted.path, model = wanted.model;
  dropNext();
  opening_.recovering = false;
  opening_.next = std::move(wanted);
  if (!model_) takeNext();
  startOpening(path, model);
}

void Session::dropNext() {
  if (std::exchange(opening_.next, std::nullopt)) Q_EMIT openFailed();
}

void Session::reopen() {
  dropNext();
  opening_.recovering = true;
  startOpening(path_, modelName());
}

void Session::notOpened(bool served) {
  const bool another = opening_.next.has_value();
  opening_.next.reset();
  opening_.served = served;
  Q_EMIT jobChanged();  // the engine takes other requests than before
  Q_EMIT openFailed();
  if (!model_) return;
  if (opening_.served) {
    resume();
  } else if (another && !opening_.replaced) {
    reopen();
  }
}

void Session::takeNext() {
  if (!opening_.next) return;
  Opening::Wanted next = *std::exchange(opening_.next, std::nullopt);
  startOver(next.path);
  opening_.restoring = std::move(next.project);
}

void Session::startOver(const QString& path) {
  dropExport();
  toFetch_.reset();
  if (model_) Q_EMIT leaving();
  path_ = path;
  opening_.restoring.reset();
  opening_.recovering = opening_.fatal = false;
  choices_->startOver();
  flavour_ = protocol::FoldParams().norm;
  inputs_ = {};
  clearModel();
}

void Session::close() {
  cancel();
  endJob();
  dropNext();
  opening_.served = false;
  startOver({});
}

void Session::resume() {
  if (!model_ || busy()) return;
  if (!opening_.served) {
    reopen();
  } else if (!analysis_) {
    analyze();
  } else if (!plan_.isFor(choices_->params())) {
    requestPlan();
  } else {
    confirm();
  }
}

void Session::recover() {
  engine_->start();
  opening_.served = false;
  if (path_.isEmpty()) return;
  if (opening_.fatal) return dropNext();
  reopen();
}

// ---- what arrives from the engine

void Session::clearModel() {
  model_.reset();
  sameModel_ = false;
  index_ = {};
  analysis_.reset();
  plan_.clear();
  fold_.reset();
  proofs_.clear();
  provedBefore_.clear();
  measurements_->clear();
  exported_.reset();
  statsCache_.clear();
  selection_->forget();
  Q_EMIT selection_->changed();
  Q_EMIT modelChanged();
  Q_EMIT planChanged();
  Q_EMIT foldChanged();
  Q_EMIT measurements_->changed();
  Q_EMIT measurements_->paramsChanged();
}

void Session::voidProof() {
  const bool measured = measurements_->retire(job_.kind == JobKind::Measuring);
  const bool folded = std::exchange(fold_, std::nullopt).has_value();
  exported_.reset();
  if (!folded && !measured) return;
  Q_EMIT foldChanged();
  Q_EMIT measurements_->changed();
}

void Session::opened(protocol::ModelInfo&& info) {
  takeNext();
  // An engine that had to be started again opens the file anew.
  const bool same = model_ && model_->path == info.path && model_->model == info.model &&
                    model_->file_bytes == info.file_bytes && model_->modified == info.modified;
  // The choices name parts of the file as it was by their ids: a project carries them over by name.
  if (model_ && !same) {
    opening_.served = false;
    opening_.replaced = true;
    return Q_EMIT modelReplaced();
  }
  opening_.served = true;
  opening_.replaced = false;
  const Selection before = selection_->current();
  sameModel_ = same;
  index_ = ModelIndex(std::make_shared<const protocol::GraphDocument>(std::move(info.graph)));
  info.graph = {};
  model_ = std::move(info);
  analysis_.reset();
  plan_.clear();
  statsCache_.clear();
  foldServed_ = false;
  Q_EMIT modelChanged();
  if (same) {
    selection_->select(before);
  } else {
    // The ids in the plan's parameters belong to another graph.
    choices_->startOver();
    selection_->clear();
    inputs_ = opening_.restoring ? opening_.restoring->inputs : inputPreset(presetName());
  }
  Q_EMIT inputsChanged();
  analyze();
}

void Session::takeAnalysis(protocol::Analysis&& analysis) {
  index_.merge(std::exchange(analysis.values, {}));
  analysis_ = std::move(analysis);
  const QString advice = asSentence(hintWords(analysis_->advice));
  for (protocol::NormInfo& norm : analysis_->norms) {
    if (norm.verdict == Verdict::Unknown && !advice.isEmpty()) norm.reason += ' ' + advice.toStdString();
  }
  statsCache_.clear();  // The plan's centerings come only with the analysis.
  rememberFile(recentFile(path_, analysis_->totals));
}

void Session::analyzed(protocol::Analysis&& analysis) {
  takeAnalysis(std::move(analysis));
  dropProofsOfOtherInputs();
  measurements_->dropOfOtherInputs(inputs_);
  // Once the user has changed the plan it is no longer the project's.
  if (opening_.restoring && choices_->undoStack()->count() == 0) {
    opening_.restoring->lost.clear();
    choices_->startOver(planOf(*opening_.restoring, analysis_->norms, index(), opening_.restoring->lost));
    flavour_ = opening_.restoring->flavour;
  }
  Q_EMIT analysisChanged();
  selection_->askZeroMean();
  requestPlan();
}

}  // namespace normlens::ui
