#include "ui/session/plan_choices.h"

#include <QUndoCommand>
#include <algorithm>
#include <set>

#include "ui/session/session.h"
#include "ui/session/words/format.h"

namespace normlens::ui {

class PlanChoices::Change final : public QUndoCommand {
 public:
  Change(PlanChoices* choices, protocol::PlanParams after, const QString& text)
      : QUndoCommand(text), choices_(choices), before_(choices->params_), after_(std::move(after)) {}
  void undo() override { put(before_); }
  void redo() override { put(after_); }

 private:
  void put(const protocol::PlanParams& params) {
    choices_->params_ = params;
    Q_EMIT choices_->changed();
  }

  PlanChoices* choices_;  // owns the stack that owns this
  protocol::PlanParams before_, after_;
};

PlanChoices::PlanChoices(Session* session) : QObject(session), session_(session) {}

void PlanChoices::push(const protocol::PlanParams& params, const QString& text) {
  undo_.push(new Change(this, params, text));  // owned by the stack, which calls redo()
}

void PlanChoices::startOver(const protocol::PlanParams& params) {
  params_ = params;
  undo_.clear();
}

void PlanChoices::setPolicy(const QString& policy) {
  if (text(params_.policy) == policy) return;
  protocol::PlanParams params = params_;
  params.policy = policy.toStdString();
  push(params, tr("policy %1").arg(policy));
}

void PlanChoices::centerValue(int value, bool centered) {
  protocol::PlanParams params = params_;
  std::erase(params.center_values, value);
  if (centered) params.center_values.push_back(value);
  if (params.center_values == params_.center_values) return;
  const protocol::GraphNode* producer = session_->index().producer(value);
  const QString where =
      producer != nullptr ? shortName(session_->index().nodeTitle(producer->id), 2) : QString::number(value);
  push(params, centered ? tr("center the output of %1").arg(where) : tr("center %1 no more").arg(where));
}

void PlanChoices::keepNorms(const std::vector<int>& norms, bool keep) {
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
  const protocol::NormInfo* info = session_->norm(norms.front());
  QString name = info != nullptr ? shortName(text(info->name), 2) : QString::number(norms.front());
  if (norms.size() > 1) name = tr("%n LayerNorms", nullptr, static_cast<int>(norms.size()));
  push(params, keep ? tr("keep %1").arg(name) : tr("fold %1").arg(name));
}

void PlanChoices::setEditOn(const protocol::EditInfo& edit, bool on) {
  const protocol::PlanParams params = toggled(params_, edit, on);
  if (params.keep_norms == params_.keep_norms) return;
  // "center wte.weight over 48 columns (copy: ...)": the head of it is enough for a menu.
  const QString what = text(edit.text).section(QLatin1String(" over "), 0, 0).section(QLatin1String(" ("), 0, 0);
  push(params, (on ? tr("turn on: %1") : tr("turn off: %1")).arg(what));
}

void PlanChoices::foldAll() {
  protocol::PlanParams params = params_;
  params.policy = "all";
  params.keep_norms.clear();
  push(params, tr("fold all"));
}

void PlanChoices::suggestBest() {
  protocol::PlanParams params;
  params.prices = "measured";
  push(params, tr("suggest best"));
}

void PlanChoices::reset() { push({}, tr("reset the plan")); }

}  // namespace normlens::ui
