#include "ui/window/inspector/plan_card.h"

#include <QGridLayout>
#include <QLabel>
#include <QRadioButton>

#include "ui/models/norm_model.h"
#include "ui/session/session.h"
#include "ui/session/words/format.h"
#include "ui/widgets/badge.h"
#include "ui/window/parts.h"

namespace normlens::ui {

namespace {

Badge::Tone toneOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::Free:
      return Badge::Tone::Good;
    case Verdict::WithCentering:
      return Badge::Tone::Centering;
    case Verdict::Blocked:
      return Badge::Tone::Blocked;
    case Verdict::Unknown:
      break;
  }
  return Badge::Tone::Neutral;
}

Badge::Tone toneOf(PlanState state) {
  switch (state) {
    case PlanState::Planned:
    case PlanState::PlannedCentered:
      return Badge::Tone::Accent;
    case PlanState::Folded:
      return Badge::Tone::Good;
    case PlanState::FoldedCentered:
      return Badge::Tone::Centering;
    case PlanState::OtherOutputs:
    case PlanState::WouldFall:
      return Badge::Tone::Blocked;
    case PlanState::Unknown:
    case PlanState::Kept:
      break;
  }
  return Badge::Tone::Neutral;
}

// Returns what a way costs: "each run 4.1 µs · file 0 B".
QString priceOf(const protocol::PlanWay& way) {
  if (way.kind == "copy") {
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
  const Verdict verdict = verdictFromName(info->verdict);
  const bool early = session_->early();
  verdict_->set(toneOf(verdict), verdictIcon(verdict, early),
                early ? tr("%1, to be confirmed by a run").arg(verdictTitle(verdict)) : verdictTitle(verdict));
  verdict_->setToolTip(verdictMeaning(verdict));
  const PlanMark mark = session_->planMark(norm);
  plan_->set(toneOf(mark.state), planIcon(mark.state), planBadge(mark.state));
  plan_->setToolTip(planMeaning(mark.state));
  // A blocked or unknown norm that is kept shows why once: in its verdict's reason.
  const bool told = mark.because.isEmpty() || text(info->reason).contains(mark.because, Qt::CaseInsensitive);
  because_->setVisible(!told);
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
                            way.kind == "copy" ? "wayCopy" : "wayCentering", tr("Plan it so; Undo takes it back."));
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
