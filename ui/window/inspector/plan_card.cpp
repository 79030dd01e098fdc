#include "ui/window/inspector/plan_card.h"

#include <QGridLayout>
#include <QRadioButton>

#include "ui/models/norm_model.h"
#include "ui/session/session.h"
#include "ui/widgets/badge.h"
#include "ui/window/parts.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

using Tone = Badge::Tone;

// Ordered as Verdict, and as PlanState.
constexpr std::array kVerdictTones = {Tone::Good, Tone::Centering, Tone::Blocked, Tone::Neutral};
constexpr std::array<Tone, kPlanStates> kPlanTones = {Tone::Neutral,   Tone::Accent,  Tone::Accent,  Tone::Good,
                                                      Tone::Centering, Tone::Neutral, Tone::Blocked, Tone::Blocked};

// Returns what a way costs: "each run 4.1 µs · file 0 B".
QString priceOf(const protocol::PlanWay& way) {
  if (way.kind == protocol::WayKind::Copy) {
    return PlanCard::tr("each run nothing · file +%1 (%2%)")
        .arg(formatBytes(way.bytes_grown), formatNumber(way.growth_percent, 2));
  }
  return way.cost_us > 0 ? PlanCard::tr("each run %1 · file 0 B").arg(formatMicroseconds(way.cost_us))
                         : PlanCard::tr("each run one mean over the channels · file 0 B");
}

}  // namespace

PlanCard::PlanCard(Session* session, QWidget* parent) : QWidget(parent), session_(session) {
  auto* column = makeColumn(this, 6);
  auto* marks = new QGridLayout;
  marks->setHorizontalSpacing(12);
  marks->setVerticalSpacing(4);
  marks->setColumnStretch(2, 1);
  verdict_ = describe(new Badge(this), "verdictBadge");
  plan_ = describe(new Badge(this, Badge::Look::Outlined), "planBadge");
  marks->addWidget(makeLabel(tr("Can be done"), "soft", this), 0, 0);
  marks->addWidget(verdict_, 0, 1);
  marks->addWidget(makeLabel(tr("The plan does"), "soft", this), 1, 0);
  marks->addWidget(plan_, 1, 1);
  column->addLayout(marks);
  because_ = describe(makeWords("soft", this), "planReason");
  because_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  column->addWidget(because_);
  ways_ = describe(new QWidget(this), "planWays");
  wayList_ = makeColumn(ways_, 6, {0, 4, 0, 0});
  wayList_->addWidget(makeLabel(tr("Two ways to fold it"), "section", ways_));
  column->addWidget(ways_);
}

void PlanCard::showNorm(int norm) {
  const protocol::NormInfo* info = session_->norm(norm);
  if (info == nullptr) return;
  const Verdict verdict = info->verdict;
  const bool early = session_->early();
  verdict_->set(kVerdictTones[static_cast<size_t>(verdict)], verdictIcon(verdict, early),
                early ? tr("%1, to be confirmed by a run").arg(verdictTitle(verdict)) : verdictTitle(verdict));
  verdict_->setToolTip(verdictMeaning(verdict));
  const PlanMark mark = session_->planMark(norm);
  plan_->set(kPlanTones[static_cast<size_t>(mark.state)], planIcon(mark.state), planBadge(mark.state));
  plan_->setToolTip(planMeaning(mark.state));
  // A blocked or unknown norm that is kept shows why once: in its verdict's reason.
  const bool isShown = mark.because.isEmpty() || text(info->reason).contains(mark.because, Qt::CaseInsensitive);
  because_->setVisible(!isShown);
  because_->setText(unbroken(tr("Because %1.").arg(mark.because)));
  showWays(session_->normState(norm));
}

void PlanCard::showWays(const protocol::NormState* state) {
  while (QLayoutItem* item = wayList_->takeAt(1)) {
    item->widget()->deleteLater();
    delete item;
  }
  ways_->setVisible(state != nullptr && state->ways.size() > 1);
  if (ways_->isHidden()) return;
  for (const protocol::PlanWay& way : state->ways) {
    auto* card = new QFrame(ways_);
    setKind(card, "card");
    auto* lines = makeColumn(card, 2, {10, 8, 10, 8});
    auto* choice = describe(new QRadioButton(asSentence(text(way.text)).chopped(1), card),
                            way.kind == protocol::WayKind::Copy ? "wayCopy" : "wayCentering",
                            tr("Plan it so; Undo takes it back."));
    choice->setChecked(way.chosen);
    choice->setAutoExclusive(false);
    lines->addWidget(choice);
    lines->addWidget(makeWords("small", card, priceOf(way)));
    wayList_->addWidget(card);
    // Checked or not, what it shows is the plan; the click requests another.
    connect(choice, &QRadioButton::clicked, this, [this, choice, way] {
      choice->setChecked(way.chosen);
      if (!way.chosen) session_->choices()->takeWay(way);
    });
  }
}

}  // namespace normlens::ui
