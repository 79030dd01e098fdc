#include "ui/session/plan_preview.h"

#include <algorithm>
#include <utility>

#include "core/protocol/methods.h"
#include "ui/session/session.h"
#include "ui/words/format.h"
#include "ui/words/plan_rows.h"

namespace normlens::ui {

bool Fall::holds(const protocol::EditInfo& lost) const {
  return std::ranges::any_of(edits, [&](const protocol::EditInfo& each) { return sameEdit(each, lost); });
}

Fall fallBetween(const protocol::PlanInfo& before, const protocol::PlanInfo& after, const protocol::EditInfo& edit) {
  Fall fall;
  fall.edit = edit;
  for (const PlanRow& row : planRows(before, after)) {
    const bool lost = !row.on && !sameEdit(row.edit, edit);
    if (lost) fall.edits.push_back(row.edit);
  }
  std::ranges::copy_if(before.folded, std::back_inserter(fall.norms),
                       [&](int norm) { return std::ranges::find(after.folded, norm) == after.folded.end(); });
  fall.replacing = std::max(0, after.centerings - before.centerings);
  return fall;
}

QString fallTitle(const Fall& fall, const Session& session) {
  const protocol::GraphValue* value =
      fall.edit.values.empty() ? nullptr : session.index().value(fall.edit.values.front());
  const QString what =
      value != nullptr && value->constant ? shortName(text(value->name)) : PlanPreview::tr("this edit");
  const auto norms = static_cast<int>(fall.norms.size());
  return norms == 0   ? PlanPreview::tr("Leave %1 out and every norm still folds").arg(what)
         : norms == 1 ? PlanPreview::tr("Leave %1 out and 1 norm stays a LayerNorm").arg(what)
                      : PlanPreview::tr("Leave %1 out and %2 norms stay LayerNorms").arg(what).arg(norms);
}

QString fallDetail(const Fall& fall) {
  const auto edits = static_cast<int>(fall.edits.size());
  QString detail = edits == 0   ? PlanPreview::tr("No other edit goes with it.")
                   : edits == 1 ? PlanPreview::tr("1 other edit goes with it.")
                                : PlanPreview::tr("%1 other edits go with it.").arg(edits);
  if (fall.replacing > 0) {
    detail += u' ' + (fall.replacing == 1 ? PlanPreview::tr("A run-time centering replaces it.")
                                          : PlanPreview::tr("%1 run-time centerings replace it.").arg(fall.replacing));
  }
  if (fall.centered > 0) {
    detail +=
        u' ' + (fall.centered == 1
                    ? PlanPreview::tr("A run-time centering instead would still fold 1 of them.")
                    : PlanPreview::tr("A run-time centering instead would still fold %1 of them.").arg(fall.centered));
  }
  return detail;
}

QString fallen(const Fall& fall) {
  const auto norms = static_cast<int>(fall.norms.size());
  QStringList sentences;
  if (fall.replacing > 0) {
    sentences << (fall.replacing == 1 ? PlanPreview::tr("A run-time centering replaces it.")
                                      : PlanPreview::tr("%1 run-time centerings replace it.").arg(fall.replacing));
  }
  if (norms > 0)
    sentences << (norms == 1 ? PlanPreview::tr("1 norm stays a LayerNorm.")
                             : PlanPreview::tr("%1 norms stay LayerNorms.").arg(norms));
  if (sentences.isEmpty()) sentences << PlanPreview::tr("Every norm that folded still folds.");
  return sentences.join(u' ');
}

void askForCentering(Session& session, Question& question, protocol::PlanParams without, const Fall& fall,
                     const std::function<void(const Fall&)>& done) {
  const protocol::GraphNode* node = session.index().node(fall.edit.node);
  if (fall.norms.empty() || fall.edit.kind != EditKind::CenterConstant || node == nullptr || node->outputs.empty())
    return;
  const int value = node->outputs.front();
  without.center_values.push_back(value);
  question.ask(protocol::methods::kPlan, without, [fall, value, done](const Reply<protocol::PlanInfo>& reply) {
    if (!reply) return;
    Fall known = fall;
    known.centered = static_cast<int>(std::ranges::count_if(
        fall.norms, [&](int norm) { return std::ranges::find(reply->folded, norm) != reply->folded.end(); }));
    known.centering = value;
    if (known.centered > 0) done(known);
  });
}

PlanPreview::PlanPreview(Session* session) : QObject(session), session_(session), question_(session->engine(), this) {
  constexpr int kWait = 150;
  wait_.setSingleShot(true);
  wait_.setInterval(kWait);
  connect(&wait_, &QTimer::timeout, this, &PlanPreview::ask);
  connect(session_, &Session::planChanged, this, &PlanPreview::forget);
}

void PlanPreview::consider(const protocol::EditInfo& edit) {
  if (edit_ && sameEdit(*edit_, edit)) return;
  forget();
  edit_ = edit;
  wait_.start();
}

void PlanPreview::forget() {
  question_.drop();
  wait_.stop();
  edit_.reset();
  if (std::exchange(fall_, std::nullopt)) Q_EMIT changed();
}

std::optional<Fall> PlanPreview::known(const protocol::EditInfo& edit) const {
  return fall_ && sameEdit(fall_->edit, edit) && !question_.pending() ? fall_ : std::nullopt;
}

void PlanPreview::ask() {
  if (!session_->plan() || !session_->served() || session_->busy()) return;
  const protocol::PlanParams without = toggled(session_->choices()->params(), *edit_, false);
  question_.ask(protocol::methods::kPlan, without, [this, without](const Reply<protocol::PlanInfo>& reply) {
    if (!reply || !session_->plan()) return;
    fall_ = fallBetween(*session_->plan(), *reply, *edit_);
    Q_EMIT changed();
    askForCentering(*session_, question_, without, *fall_, [this](const Fall& known) {
      fall_ = known;
      Q_EMIT changed();
    });
  });
}

LeftOut::LeftOut(Session* session) : QObject(session), session_(session), question_(session->engine(), this) {
  connect(session_->choices(), &PlanChoices::leavingOut, this, [this](const protocol::EditInfo& edit) {
    if (!session_->plan()) return;
    leaving_ = {edit, *session_->plan(), toggled(session_->choices()->params(), edit, false),
                session_->preview()->known(edit)};
  });
  connect(session_, &Session::planChanged, this, &LeftOut::planned);
}

void LeftOut::planned() {
  if (!session_->plan()) return;
  const protocol::PlanParams& params = session_->choices()->params();
  if (!leaving_ && fall_ && samePlan(fellIn_, params)) return;  // the same plan, emitted again
  question_.drop();
  const bool had = std::exchange(fall_, std::nullopt).has_value();
  const auto left = std::exchange(leaving_, std::nullopt);
  if (left && samePlan(left->without, params)) {  // else it was taken back meanwhile
    fall_ = left->known ? *left->known : fallBetween(left->before, *session_->plan(), left->edit);
    fellIn_ = params;
    if (!left->known) {
      askForCentering(*session_, question_, params, *fall_, [this](const Fall& known) {
        fall_ = known;
        Q_EMIT changed();
      });
    }
  }
  if (had || fall_) Q_EMIT changed();
}

}  // namespace normlens::ui
