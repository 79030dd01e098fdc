// Session: the analysis. Verdicts by inferred shapes are shown at once, and the run that confirms them comes after;
// what is asked of it.
#include <algorithm>
#include <utility>

#include "core/protocol/methods.h"
#include "ui/session/engine_run.h"
#include "ui/session/session.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

using Norms = std::vector<protocol::NormInfo>;

// Titles of norms that have another verdict than before, or were not there.
QStringList changedVerdicts(const Norms& before, const Norms& after) {
  QStringList names;
  for (const protocol::NormInfo& norm : after) {
    const auto same = [&](const protocol::NormInfo& old) {
      return old.name == norm.name && old.index == norm.index && old.verdict == norm.verdict;
    };
    const auto at = static_cast<size_t>(norm.index);
    if (at >= before.size() || !same(before[at])) names << text(norm.title);
  }
  return names;
}

}  // namespace

void Session::confirm() {
  if (!early() || confirmation_.kind != JobKind::None || !opening_.served) return;
  confirmationQuestion_.ask(protocol::methods::kAnalyze, {}, [this](Reply<protocol::Analysis>& reply) {
    const Job ended = std::exchange(confirmation_, {});
    if (reply) return confirmedBy(std::move(*reply));
    const EngineError& error = reply.error();
    if (error.cancelled() || error.engineDied) {
      Q_EMIT jobChanged();
      if (error.cancelled()) Q_EMIT stopped(ended);
      return;
    }
    Q_EMIT problem(asSentence(error.message), asSentence(error.hint));
    dropAnalysis();
  });
  confirmation_ = {JobKind::Confirming, {}, -1, -1};
  Q_EMIT jobChanged();
}

void Session::dropConfirmation() {
  confirmation_ = {};
  confirmationQuestion_.drop();
}

void Session::confirmedBy(protocol::Analysis&& run) {
  const QStringList changed = changedVerdicts(analysis_->norms, run.norms);
  const bool sameNorms = changed.isEmpty() && analysis_->norms.size() == run.norms.size();
  takeAnalysis(std::move(run));
  if (!sameNorms) {
    voidProof();
    proofs_.clear();
    plan_.clear();
  }
  Q_EMIT analysisChanged();
  Q_EMIT confirmed(changed);
  Q_EMIT jobChanged();
  if (sameNorms) return;
  // The choices name norms by their place, which has changed.
  choices_->startOver();
  selection_->askZeroMean();
  requestPlan();
}

QString Session::modelName() const { return model_ && !model_->models.empty() ? text(model_->model) : QString(); }

QString Session::title() const { return modelTitle(path_, modelName()); }

// Returns the name that inputs are stored under: each model of a file that holds several has its own.
QString Session::presetName() const { return modelName().isEmpty() ? path_ : path_ + u'/' + modelName(); }

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

QString Session::titleOfNorm(const std::string& name) const {
  const protocol::NormInfo* info = norm(normNamed(text(name)));
  return text(info != nullptr ? info->title : name);
}

bool Session::folds(int norm) const {
  return plan() && std::find(plan()->folded.begin(), plan()->folded.end(), norm) != plan()->folded.end();
}

const protocol::NormState* Session::normState(int norm) const {
  if (!plan()) return nullptr;
  const auto& states = plan()->norms;
  const auto found = std::ranges::find(states, norm, &protocol::NormState::norm);
  return found == states.end() ? nullptr : &*found;
}

QString Session::runObstacle() const {
  if (!model_) return tr("No model is open.");
  if (engine_->state() == EngineClient::State::Dead) return tr("The engine has stopped. Press Restart engine.");
  if (!opening_.served)
    return busy() ? tr("The model is being opened.") : tr("The engine does not have the model open. Press Open again.");
  if (!analysis_) return busy() ? tr("The model is being analyzed.") : tr("There is no analysis. Press Analyze.");
  return cannotRun();
}

PlanMark Session::planMark(int index) const {
  const protocol::NormState* state = normState(index);
  return state == nullptr ? PlanMark()
                          : ui::planMark(*plan(), *state, fold_ ? &*fold_ : nullptr, firstOther(), notRun());
}

std::vector<PlanMark> Session::planMarks() const {
  std::vector<PlanMark> marks;
  if (!plan()) return marks;
  const int other = firstOther();
  const std::vector<int> unseen = notRun();
  for (const protocol::NormState& state : plan()->norms) {
    const auto at = static_cast<size_t>(std::max(state.norm, 0));
    if (marks.size() <= at) marks.resize(at + 1);
    marks[at] = ui::planMark(*plan(), state, fold_ ? &*fold_ : nullptr, other, unseen);
  }
  if (preview_->fall()) {
    for (const int norm : preview_->fall()->norms) marks[static_cast<size_t>(norm)] = {PlanState::WouldFall, {}};
  }
  return marks;
}

int Session::firstOther() const {
  return fold_ && fold_->verify ? normNamed(text(fold_->verify->first_diverging)) : -1;
}

std::vector<int> Session::notRun() const {
  std::vector<int> norms;
  if (!fold_ || !fold_->verify) return norms;
  for (const std::string& name : fold_->verify->not_run) norms.push_back(normNamed(text(name)));
  return norms;
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

void Session::requestTensorStats(int value, Question& question,
                                 const std::function<void(const Reply<protocol::TensorStats>&)>& done) {
  question.drop();
  if (const auto cached = statsCache_.constFind(value); cached != statsCache_.constEnd()) return done(*cached);
  protocol::TensorParams params;
  params.value = value;
  params.plan = choices_->params();
  question.ask(protocol::methods::kTensorStats, params,
               [this, value, done, revision = planRevision_](const Reply<protocol::TensorStats>& reply) {
                 if (reply && revision == planRevision_) statsCache_.insert(value, *reply);
                 done(reply);
               });
}

Job Session::running() const {
  if (busy()) return job_;
  if (confirmation_.kind != JobKind::None) return confirmation_;
  for (const auto& [run, kind] : beside_) {
    if (run->running()) return {kind, run->stage(), run->fraction(), -1};
  }
  return {};
}

// A fold that was proved with other inputs is taken back, as the user might: to do it again is to prove it with these.
void Session::dropProofsOfOtherInputs() {
  if (proofs_.empty() || proofs_.areOf(inputs_)) return;
  voidProof();
  proofs_.clear();
  if (choices_->folded()) choices_->undoStack()->undo();
}

// Its plan is there: what remains is what was measured, and the selection.
void Session::restoreProject() {
  if (!opening_.restoring) return;
  const Project project = std::move(*opening_.restoring);
  opening_.restoring.reset();
  provedBefore_ = project.proved;
  if (!provedBefore_.empty()) Q_EMIT foldChanged();
  measurements_->beginWith(inputs_);
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

const protocol::FoldResult* Session::foldWith(const std::string& norm) {
  if (norm == flavour_) return fold_ ? &*fold_ : nullptr;
  const Proof* known = choices_->folded() && plan() ? proofs_.of(choices_->params(), norm) : nullptr;
  return known != nullptr && sameEdits(known->result.plan, *plan()) ? &known->result : nullptr;
}

}  // namespace normlens::ui
