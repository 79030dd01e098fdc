#include "ui/session/plan_choices.h"

#include <QUndoCommand>
#include <algorithm>
#include <set>

#include "core/protocol/methods.h"
#include "ui/session/session.h"
#include "ui/words/format.h"

namespace normlens::ui {

class PlanChoices::Change final : public QUndoCommand {
 public:
  Change(PlanChoices* choices, Wanted after, const QString& text)
      : QUndoCommand(text), choices_(choices), before_(choices->wanted_), after_(std::move(after)) {}
  void undo() override { put(before_); }
  void redo() override { put(after_); }

 private:
  void put(const Wanted& wanted) {
    choices_->wanted_ = wanted;
    Q_EMIT choices_->changed();
  }

  PlanChoices* choices_;  // owns the stack that owns this
  Wanted before_, after_;
};

PlanChoices::PlanChoices(Session* session) : QObject(session), session_(session), alone_(session->engine(), this) {}

void PlanChoices::push(Wanted wanted, const QString& text) {
  undo_.push(new Change(this, std::move(wanted), text));  // owned by the stack, which calls redo()
}

void PlanChoices::startOver(const protocol::PlanParams& params) {
  alone_.drop();  // it names norms by their places
  wanted_ = {params, false};
  undo_.clear();
}

void PlanChoices::setFolded(int norms) {
  if (wanted_.folded) return;
  push(Wanted{wanted_.params, true}, norms == 1 ? tr("fold 1 LayerNorm") : tr("fold %1 LayerNorms").arg(norms));
}

void PlanChoices::setPolicy(Policy policy) {
  if (wanted_.params.policy == policy) return;
  protocol::PlanParams params = wanted_.params;
  params.policy = policy;
  push(params, tr("policy %1").arg(policyTitle(policy)));
}

void PlanChoices::use(const protocol::PlanParams& params, const QString& name) {
  if (!samePlan(params, wanted_.params)) push(params, tr("use %1").arg(name));
}

void PlanChoices::centerValue(int value, bool centered) {
  protocol::PlanParams params = wanted_.params;
  std::erase(params.center_values, value);
  if (centered) params.center_values.push_back(value);
  if (params.center_values == wanted_.params.center_values) return;
  push(params,
       centered ? tr("center the output of %1").arg(nameOf(value)) : tr("stop centering %1").arg(nameOf(value)));
}

// Returns a constant's own name, for another value that of the node that makes it.
QString PlanChoices::nameOf(int value) const {
  const ModelIndex& index = session_->index();
  const protocol::GraphValue* known = index.value(value);
  if (known != nullptr && known->constant) return shortName(text(known->name));
  const protocol::GraphNode* producer = index.producer(value);
  return producer != nullptr ? shortName(index.nodeTitle(producer->id), 2) : QString::number(value);
}

void PlanChoices::takeWay(const protocol::PlanWay& way) {
  protocol::PlanParams params = wanted_.params;
  if (way.kind == protocol::WayKind::Copy) {
    params.copy_values.push_back(way.value);
  } else if (!params.copy_values.empty()) {
    params.copy_values.clear();  // as the planner chose before
  } else {
    params.center_values.push_back(way.value);
  }
  push(params, text(way.text));
}

void PlanChoices::center(int value, const protocol::EditInfo& instead) {
  protocol::PlanParams params = toggled(wanted_.params, instead, false);
  params.center_values.push_back(value);
  push(params, tr("center %1 at run time").arg(nameOf(value)));
}

void PlanChoices::keepNorms(const std::vector<int>& norms, bool keep) {
  if (norms.empty()) return;
  if (isByPaper()) return Q_EMIT session_->problem(byPaper(), {});
  std::set<int> kept(wanted_.params.keep_norms.begin(), wanted_.params.keep_norms.end());
  for (const int norm : norms) {
    if (keep) {
      kept.insert(norm);
    } else {
      kept.erase(norm);
    }
  }
  protocol::PlanParams params = wanted_.params;
  params.keep_norms.assign(kept.begin(), kept.end());
  if (params.keep_norms == wanted_.params.keep_norms) return;
  const QString name =
      norms.size() > 1 ? tr("%n LayerNorms", nullptr, static_cast<int>(norms.size())) : nameOfNorm(norms.front());
  push(params, keep ? tr("keep %1").arg(name) : tr("fold %1").arg(name));
}

QString PlanChoices::nameOfNorm(int norm) const {
  const protocol::NormInfo* info = session_->norm(norm);
  return info != nullptr ? shortName(text(info->title), 2) : QString::number(norm);
}

QString PlanChoices::byPaper() const {
  return tr("The policy %1 folds by the paper's criterion alone. Choose another policy.")
      .arg(policyTitle(Policy::Paper));
}

QString PlanChoices::foldObstacle(int norm) const {
  const protocol::NormInfo* info = session_->norm(norm);
  const bool kept = std::ranges::find(wanted_.params.keep_norms, norm) != wanted_.params.keep_norms.end();
  if (isByPaper()) return byPaper();
  if (info == nullptr || kept || session_->folds(norm)) return session_->cannotRun();
  if (const QString obstacle = session_->runObstacle(); !obstacle.isEmpty()) return obstacle;
  return info->verdict == Verdict::Unknown ? verdictMeaning(info->verdict) : QString();
}

void PlanChoices::foldNorm(int norm) {
  protocol::PlanParams params = wanted_.params;
  params.policy = Policy::All;
  params.carry_means = false;
  params.keep_norms.clear();
  for (const protocol::NormInfo& other : session_->analysis()->norms) {
    if (other.index != norm) params.keep_norms.push_back(other.index);
  }
  alone_.ask(protocol::methods::kPlan, params, [this, norm, before = wanted_](const Reply<protocol::PlanInfo>& reply) {
    if (!samePlan(before.params, wanted_.params) || before.folded != wanted_.folded) return;
    if (reply) return addForNorm(norm, *reply);
    if (reply.error().cancelled() || reply.error().engineDied) return;
    Q_EMIT session_->problem(asSentence(reply.error().message), asSentence(reply.error().hint));
  });
}

void PlanChoices::addForNorm(int norm, const protocol::PlanInfo& alone) {
  const auto state = std::ranges::find(alone.norms, norm, &protocol::NormState::norm);
  if (std::ranges::find(alone.folded, norm) == alone.folded.end())
    return Q_EMIT session_->problem(tr("The plan cannot fold %1.").arg(nameOfNorm(norm)),
                                    state != alone.norms.end() ? asSentence(text(state->because)) : QString());
  protocol::PlanParams params = wanted_.params;
  const auto add = [](std::vector<int>& values, const std::vector<int>& more) {
    for (const int value : more) {
      if (std::ranges::find(values, value) == values.end()) values.push_back(value);
    }
  };
  for (const protocol::EditInfo& edit : alone.edits) {
    if (edit.kind == EditKind::InsertCentering) add(params.center_values, edit.values);
    if (edit.kind == EditKind::CenterConstant && edit.bytes_grown > 0) add(params.copy_values, edit.values);
  }
  if (!samePlan(params, wanted_.params)) push(params, tr("fold %1").arg(nameOfNorm(norm)));
}

void PlanChoices::setEditOn(const protocol::EditInfo& edit, bool on) {
  if (isByPaper()) return Q_EMIT session_->problem(byPaper(), {});
  const protocol::PlanParams params = toggled(wanted_.params, edit, on);
  if (samePlan(params, wanted_.params)) return;
  if (!on) Q_EMIT leavingOut(edit);
  push(params, (on ? tr("turn on: %1") : tr("turn off: %1")).arg(text(edit.subject)));
}

void PlanChoices::foldAll() {
  protocol::PlanParams params = wanted_.params;
  params.policy = Policy::All;
  params.keep_norms.clear();
  push(params, tr("fold all"));
}

void PlanChoices::suggestBest() {
  protocol::PlanParams params;
  params.prices = protocol::Prices::Measured;
  push(params, tr("suggest best"));
}

void PlanChoices::reset() { push(protocol::PlanParams{}, tr("reset the plan")); }

}  // namespace normlens::ui
