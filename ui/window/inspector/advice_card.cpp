#include "ui/window/inspector/advice_card.h"

#include <algorithm>

#include "ui/models/cost_advice.h"
#include "ui/session/session.h"
#include "ui/widgets/needs_list.h"
#include "ui/window/inspector/inspector.h"
#include "ui/window/parts.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

QString centeringsOf(const Advice& advice) {
  if (advice.centerings.isEmpty()) return AdviceCard::tr("no centering");
  if (advice.centerings.size() > 1) return AdviceCard::tr("%1 centerings").arg(advice.centerings.size());
  const QString& subject = advice.centerings.constFirst();
  return subject.isEmpty() ? AdviceCard::tr("its own centering") : AdviceCard::tr("centering %1").arg(subject);
}

Need rowOf(const Advice& advice, const Session& session) {
  const int first = advice.norms.front();
  const QString name = advice.norms.size() == 1 ? shortName(text(session.norm(first)->title))
                                                : AdviceCard::tr("%1 LayerNorms").arg(advice.norms.size());
  return {.mark = u'N',
          .name = name,
          .note = centeringsOf(advice),
          .status = formatGain(advice.gain),
          .state = advice.inPlan ? Need::State::Done : Need::State::Plain,
          .target = first};
}

}  // namespace

AdviceCard::AdviceCard(Session* session, QWidget* parent) : QWidget(parent), session_(session) {
  describe(this, "advice");
  auto* lines = makeColumn(this, 4);
  addSection(lines, makeLabel(tr("What folding saves"), "section", this))->setText(tr("largest gain first"));
  list_ = describe(new NeedsList(this), "adviceList");
  lines->addWidget(list_);
  words_ = describe(makeWords("faint", this), "adviceWords");
  lines->addWidget(words_);
  connect(list_, &NeedsList::activated, this, [this](int norm) { session_->selection()->selectNorm(norm); });
  connect(session_->costs(), &NormCosts::changed, this, &AdviceCard::showAdvice);
  connect(session_, &Session::planChanged, this, &AdviceCard::showAdvice);
  connect(session_, &Session::modelChanged, this, &AdviceCard::showAdvice);
  showAdvice();
}

void AdviceCard::showAdvice() {
  std::vector<Advice> all;
  if (session_->analysis() && session_->plan()) {
    all = adviceByGain(*session_->analysis(), *session_->plan(),
                       [this](int norm) { return session_->costs()->of(norm); });
  }
  QVector<Need> rows;
  for (const Advice& advice : all) rows.push_back(rowOf(advice, *session_));
  list_->setNeeds(rows);
  const bool some =
      std::ranges::any_of(all, [](const Advice& each) { return each.gain.isClear() && each.gain.us > 0; });
  const QString measured =
      tr("Per run with its 95% interval, measured on %1. Checked: in the plan.").arg(session_->costs()->device());
  words_->setText(some ? measured : tr("No gain was shown: no interval is above zero.") + u' ' + measured);
  setVisible(!all.empty());
}

}  // namespace normlens::ui
