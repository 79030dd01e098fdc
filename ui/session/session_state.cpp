// Session: what is derived from its state.
#include <algorithm>

#include "ui/session/difference_run.h"
#include "ui/session/forced_errors.h"
#include "ui/session/probe_run.h"
#include "ui/session/report_run.h"
#include "ui/session/session.h"
#include "ui/session/words/format.h"

namespace normlens::ui {

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
  return plan_ && std::find(plan_->folded.begin(), plan_->folded.end(), norm) != plan_->folded.end();
}

const protocol::NormState* Session::normState(int norm) const {
  if (!plan_) return nullptr;
  const auto& states = plan_->norms;
  const auto found = std::ranges::find(states, norm, &protocol::NormState::norm);
  return found == states.end() ? nullptr : &*found;
}

QString Session::runObstacle() const {
  if (!model_) return tr("No model is open.");
  if (!served_) return tr("The engine does not have the model open.");
  if (!analysis_) return tr("The model is being analysed.");
  return cannotRun();
}

PlanMark Session::planMark(int index) const {
  const protocol::NormState* state = normState(index);
  return state == nullptr ? PlanMark() : ui::planMark(*state, fold_ ? &*fold_ : nullptr, firstOther());
}

std::vector<PlanMark> Session::planMarks() const {
  std::vector<PlanMark> marks;
  if (!plan_) return marks;
  const int other = firstOther();
  for (const protocol::NormState& state : plan_->norms) {
    const auto at = static_cast<size_t>(std::max(state.norm, 0));
    if (marks.size() <= at) marks.resize(at + 1);
    marks[at] = ui::planMark(state, fold_ ? &*fold_ : nullptr, other);
  }
  if (preview_->fall()) {
    for (const int norm : preview_->fall()->norms) marks[static_cast<size_t>(norm)] = {PlanState::WouldFall, {}};
  }
  return marks;
}

Job Session::running() const {
  if (busy()) return job_;
  if (confirmation_.kind != JobKind::None) return confirmation_;
  if (report_->running()) return {JobKind::Reporting, report_->stage(), report_->fraction(), -1};
  if (probe_->swapping()) return {JobKind::Probing, probe_->stage(), probe_->fraction(), -1};
  if (forcedErrors_->running()) return {JobKind::Comparing, forcedErrors_->stage(), forcedErrors_->fraction(), -1};
  if (differences_->running()) return {JobKind::Comparing, differences_->stage(), differences_->fraction(), -1};
  return {};
}

// Stops what running() returns where no job and no confirmation runs.
void Session::cancelBeside() {
  const Job beside = running();
  if (report_->running()) {
    report_->stop();
  } else if (probe_->swapping()) {
    probe_->stop();
  } else {
    forcedErrors_->running() ? forcedErrors_->cancel() : differences_->cancel();
  }
  if (beside.kind != JobKind::None) Q_EMIT stopped(beside);
}

int Session::firstOther() const {
  return fold_ && fold_->verify ? normNamed(text(fold_->verify->first_diverging)) : -1;
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

std::vector<PlanRow> Session::planRows() const {
  if (!plan_) return {};
  return ui::planRows(offered_ ? *offered_ : *plan_, *plan_);
}

}  // namespace normlens::ui
