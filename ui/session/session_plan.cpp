// Session: changes of the plan's parameters, each a named step of the undo stack.
#include <algorithm>
#include <set>

#include "ui/session/format.h"
#include "ui/session/plan_commands.h"
#include "ui/session/session.h"

namespace normlens::ui {

void Session::pushParams(const protocol::PlanParams& params, const QString& text) {
  undo_.push(new ChangePlan(this, params_, params, text));  // owned by the stack, which calls replacePlanParams
}

void Session::replacePlanParams(const protocol::PlanParams& params) {
  params_ = params;
  plan_.reset();
  statsCache_.clear();
  ++planRevision_;
  voidProof();
  Q_EMIT planChanged();
  Q_EMIT planParamsChanged();
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
