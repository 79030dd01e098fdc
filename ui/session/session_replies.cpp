// Session: what arrives from the engine.
#include <algorithm>
#include <utility>

#include "core/protocol/methods.h"
#include "ui/client/window_words.h"
#include "ui/session/project/input_presets.h"
#include "ui/session/project/recent_files.h"
#include "ui/session/session.h"
#include "ui/session/words/format.h"

namespace normlens::ui {

namespace methods = protocol::methods;

void Session::clearModel() {
  model_.reset();
  index_ = {};
  analysis_.reset();
  plan_.reset();
  offered_.reset();
  fold_.reset();
  proofs_.clear();
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
  served_ = true;
  const Selection before = selection_->current();
  // An engine that had to be started again opens the file anew.
  const bool sameModel = model_ && model_->path == info.path && model_->model == info.model &&
                         model_->file_bytes == info.file_bytes && model_->modified == info.modified;
  index_ = ModelIndex(std::make_shared<const protocol::GraphDocument>(std::move(info.graph)));
  info.graph = {};
  model_ = std::move(info);
  analysis_.reset();
  plan_.reset();
  offered_.reset();
  statsCache_.clear();
  foldServed_ = false;
  if (!sameModel) {
    voidProof();
    proofs_.clear();
  }
  Q_EMIT modelChanged();
  if (sameModel) {
    selection_->select(before);
  } else {
    // The ids in the plan's parameters belong to another graph.
    choices_->startOver();
    selection_->clear();
    inputs_ = restoring_ ? restoring_->inputs : inputPreset(presetName());
  }
  Q_EMIT inputsChanged();
  analyze();
}

void Session::takeAnalysis(protocol::Analysis&& analysis) {
  index_.merge(std::exchange(analysis.values, {}));
  analysis_ = std::move(analysis);
  analysis_->probe_error = inWindowWords(text(analysis_->probe_error)).toStdString();
  for (protocol::NormInfo& norm : analysis_->norms) {
    if (norm.verdict == "unknown") norm.reason = asSentence(inWindowWords(text(norm.reason))).toStdString();
  }
  statsCache_.clear();  // what a plan centers comes only with the analysis
  const protocol::Totals& totals = analysis_->totals;
  rememberFile({path_, totals.free + totals.with_centering, totals.layer_norms});
}

void Session::analyzed(protocol::Analysis&& analysis) {
  takeAnalysis(std::move(analysis));
  dropProofsOfOtherInputs();
  // Once the user has changed the plan it is no longer the project's.
  if (restoring_ && choices_->undoStack()->count() == 0) {
    restoring_->lost.clear();
    choices_->startOver(planOf(*restoring_, *this, restoring_->lost));
    flavour_ = restoring_->flavour;
  }
  Q_EMIT analysisChanged();
  selection_->askZeroMean();
  requestPlan();
}

// A fold that was proved with other inputs is taken back, as the user might: to do it again is to prove it with these.
void Session::dropProofsOfOtherInputs() {
  if (proofs_.empty() || protocol::toJson(provedWith_) == protocol::toJson(inputs_)) return;
  voidProof();
  proofs_.clear();
  if (choices_->folded()) choices_->undoStack()->undo();
}

// Its plan is there: what remains is what was measured, and the selection.
void Session::restoreProject() {
  if (!restoring_) return;
  const Project project = std::move(*restoring_);
  restoring_.reset();
  measurements_->restore(project);
  const int norm = project.view.norm.isEmpty() ? -1 : normNamed(project.view.norm);
  if (norm >= 0) selection_->selectNorm(norm);
  Q_EMIT projectRestored(project);
}

void Session::setDigits(int digits) {
  if (digits == digits_) return;
  digits_ = digits;
  Q_EMIT digitsChanged();
}

void Session::requestTensorStats(int value, Question& question,
                                 const std::function<void(const Reply<protocol::TensorStats>&)>& done) {
  question.drop();
  if (const auto cached = statsCache_.constFind(value); cached != statsCache_.constEnd()) return done(*cached);
  protocol::TensorParams params;
  params.value = value;
  params.plan = choices_->params();
  question.ask(methods::kTensorStats, params,
               [this, value, done, revision = planRevision_](const Reply<protocol::TensorStats>& reply) {
                 if (reply && revision == planRevision_) statsCache_.insert(value, *reply);
                 done(reply);
               });
}

}  // namespace normlens::ui
