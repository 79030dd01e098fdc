#include "ui/window/inspector/norm_page.h"

#include <QGridLayout>
#include <QRadioButton>
#include <QWidget>
#include <algorithm>
#include <cmath>

#include "ui/models/norm_model.h"
#include "ui/session/norm_costs.h"
#include "ui/session/session.h"
#include "ui/widgets/badge.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/lesson_link.h"
#include "ui/widgets/property_list.h"
#include "ui/widgets/push_button.h"
#include "ui/window/inspector/center_card.h"
#include "ui/window/inspector/inspector.h"
#include "ui/window/inspector/weight_view.h"
#include "ui/window/inspector/why_not.h"
#include "ui/window/parts.h"
#include "ui/words/format.h"
#include "ui/words/plan_mark.h"

namespace normlens::ui {

// Shows what can be done with a LayerNorm and what the plan does with it, as two marks, with the plan's reason; and the
// ways to choose from where a copy of a weight and a run-time centering compete.
class PlanCard final : public QWidget {
  Q_OBJECT

 public:
  PlanCard(Session* session, QWidget* parent);  // session: not owned

  void showNorm(int norm);  // again when plan or proof changed

 private:
  void showWays(const protocol::NormState* state);

  Session* session_;  // Not owned.
  Badge *verdict_, *plan_;
  QLabel* because_;
  QWidget* ways_;
  QVBoxLayout* wayList_;
};

namespace {

bool contains(const std::vector<int>& list, int item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

QString range(double low, double high, int digits) {
  return QStringLiteral("%1 … %2").arg(formatNumber(low, digits), formatNumber(high, digits));
}

using Tone = Badge::Tone;

// Ordered as Verdict, and as PlanState.
constexpr std::array kVerdictTones = {Tone::Good, Tone::Centering, Tone::Blocked, Tone::Neutral};
constexpr std::array<Tone, kPlanStates> kPlanTones = {Tone::Neutral, Tone::Accent,    Tone::Accent,
                                                      Tone::Good,    Tone::Centering, Tone::Neutral,
                                                      Tone::Blocked, Tone::Accent,    Tone::Blocked};

// Returns what a way costs: "costs 4.1 µs per run, file unchanged".
QString priceOf(const protocol::PlanWay& way) {
  if (way.kind == protocol::WayKind::Copy) {
    return PlanCard::tr("no run-time cost, file +%1 (%2%)")
        .arg(formatBytes(way.bytes_grown), formatNumber(way.growth_percent, 2));
  }
  return way.cost_us > 0 ? PlanCard::tr("costs %1 per run, file unchanged").arg(formatMicroseconds(way.cost_us))
                         : PlanCard::tr("one mean over the channels per run, file unchanged");
}

}  // namespace

PlanCard::PlanCard(Session* session, QWidget* parent) : QWidget(parent), session_(session) {
  auto* column = makeColumn(this, 6);
  auto* marks = new QGridLayout;
  marks->setHorizontalSpacing(12);
  marks->setVerticalSpacing(4);
  marks->setColumnStretch(2, 1);
  // Each name is made before its value: the page is copied as text in this order.
  marks->addWidget(makeLabel(tr("Verdict"), "soft", this), 0, 0);
  marks->addWidget(verdict_ = describe(new Badge(this), "verdictBadge"), 0, 1);
  marks->addWidget(makeLabel(tr("Plan"), "soft", this), 1, 0);
  marks->addWidget(plan_ = describe(new Badge(this, Badge::Look::Outlined), "planBadge"), 1, 1);
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
  const PlanMark mark = session_->planMark(norm);
  // Folded all the same, it is not stopped by its verdict.
  const bool despite = mark.folded() && !folds(verdict);
  verdict_->set(despite ? Tone::Centering : kVerdictTones[static_cast<size_t>(verdict)],
                despite ? planIcon(mark.state) : verdictIcon(verdict, early),
                despite ? mark.own              ? tr("Only with its own centering")
                          : mark.centerings > 0 ? tr("Only with a centering")
                                                : tr("Only with a carried mean")
                : early ? tr("%1, to be confirmed by a run").arg(verdictTitle(verdict))
                        : verdictTitle(verdict));
  verdict_->setToolTip(verdictMeaning(verdict));
  plan_->set(kPlanTones[static_cast<size_t>(mark.state)], planIcon(mark.state), planBadge(mark.state));
  plan_->setToolTip(planMeaning(mark.state));
  // A blocked or unknown norm that is kept shows why once: in its verdict's reason.
  // A reason for choosing a centering is no reason for outputs that differ.
  const bool isShown = mark.because.isEmpty() || mark.state == PlanState::OtherOutputs ||
                       text(info->reason).contains(mark.because, Qt::CaseInsensitive);
  because_->setVisible(!isShown);
  because_->setText(withNameBreaks(tr("Because %1.").arg(mark.because)));
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
    const bool copies = way.kind == protocol::WayKind::Copy;
    auto* choice = describe(new QRadioButton(copies ? tr("With a copy") : tr("With a centering"), card),
                            copies ? "wayCopy" : "wayCentering", tr("Change the plan this way. Undo reverts it."));
    choice->setChecked(way.chosen);
    choice->setAutoExclusive(false);
    lines->addWidget(choice);
    lines->addWidget(makeWords("small", card, asSentence(text(way.text)) + u' ' + asSentence(priceOf(way))));
    wayList_->addWidget(card);
    // Checked or not, what it shows is the plan; the click requests another.
    connect(choice, &QRadioButton::clicked, this, [this, choice, way] {
      choice->setChecked(way.chosen);
      if (!way.chosen) session_->choices()->takeWay(way);
    });
  }
}

NormPage::NormPage(Session* session, QWidget* parent) : QWidget(parent), session_(session) {
  linkLesson(this, "zero_mean_graph");
  InspectorPage page(this);
  auto* head = new QHBoxLayout;
  title_ = describe(page.addTitle(head, Qt::ElideLeft), "inspectorTitle");
  page.layout->addLayout(head);
  subtitle_ = page.add(makeWords("soft", page.body));
  page.layout->addSpacing(4);
  plan_ = page.add(new PlanCard(session, page.body));
  reason_ = page.add(describe(makeWords("body", page.body), "reason"));
  reason_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  conditions_ = page.add(describe(makeWords("soft", page.body), "conditions",
                                  tr("The file does not fix this size. A run with another size tested it first.")));
  conditions_->setTextFormat(Qt::RichText);
  conditions_->setTextInteractionFlags(Qt::TextBrowserInteraction);
  connect(conditions_, &QLabel::linkActivated, this, &NormPage::assume);
  page.layout->addSpacing(4);
  whyNot_ = page.add(describe(new WhyNot(session, page.body), "whyNot"));
  page.layout->addSpacing(4);
  criteria_ = page.add(makeCriteria(page.body));
  needsHead_ = page.add(new QWidget(page.body));
  needsCount_ = addSection(makeColumn(needsHead_, -1, {0, 4, 0, 0}), makeLabel(tr("Needs"), "section", needsHead_));
  needs_ = page.add(describe(new NeedsList(page.body), "needs"));
  shared_ = page.add(makeWords("soft", page.body));
  center_ = page.add(new CenterCard(session, {}, page.body));
  weight_ = page.add(new WeightView(session, page.body));
  page.layout->addSpacing(8);
  addSection(page.layout, makeLabel(tr("Attributes"), "section", page.body));
  attributes_ = page.add(new PropertyList(page.body));
  page.layout->addStretch(1);
  goToBlocker_ = page.addFooterButton(tr("Go to the blocker"), "goToBlockerButton");
  goToBlocker_->setToolTip(tr("Show the blocker in the graph (G)."));
  foldThis_ = page.addFooterButton(tr("Fold this LayerNorm"), "foldThis");
  centerHere_ = page.addFooterButton(tr("Center here"), "centerHere");
  explain(centerHere_, tr("Subtract the mean of this norm's input at run time. First shows what that would free."),
          "auxiliary");
  connect(goToBlocker_, &QPushButton::clicked, this, [this] {
    if (const protocol::NormInfo* norm = session_->norm(norm_); norm != nullptr && norm->blocker)
      Q_EMIT nodeWanted(norm->blocker->node);
  });
  connect(whyNot_, &WhyNot::nodeWanted, this, &NormPage::nodeWanted);
  connect(session_->costs(), &NormCosts::changed, this, &NormPage::showButtons);
  connect(foldThis_, &QPushButton::clicked, this, &NormPage::foldThis);
  connect(centerHere_, &QPushButton::clicked, this, &NormPage::centerHere);
  connect(session_, &Session::digitsChanged, this, &NormPage::showAttributes);
  connect(needs_, &NeedsList::activated, this, [this](int target) {
    needs_->setCurrent(target);
    weight_->showConstant(target);
  });
}

void NormPage::showNorm(int index) {
  norm_ = index;
  center_->dismiss();
  weight_->showConstant(-1);
  const protocol::NormInfo* norm = session_->norm(index);
  if (norm == nullptr) return;
  const Verdict verdict = norm->verdict;
  title_->setFullText(shortName(text(norm->title)));
  title_->setToolTip(text(norm->title));
  reason_->setText(withNameBreaks(text(norm->reason)));
  // The blocker's row and its numbers show it.
  reason_->setVisible(!norm->blocker || norm->blocker->gamma < 0);
  showConditions(*norm);
  showAttributes();
  refreshPlan();
  if (verdict >= Verdict::Blocked) return;
  for (const Need& need : neededEdits()) {
    if (need.target < 0) continue;
    needs_->setCurrent(need.target);
    weight_->showConstant(need.target);
    break;
  }
}

// "LayerNorm → RMSNorm over 64 channels", once it is one.
void NormPage::showSubtitle(const protocol::NormInfo& norm) {
  const QString type = text(nameOf(norm.kind));
  const QString kind = session_->planMark(norm_).folded() ? tr("%1 → RMSNorm").arg(type) : type;
  const QString over =
      norm.normalized_shape.empty() ? kind : tr("%1 over %2 channels").arg(kind, formatShape(norm.normalized_shape));
  subtitle_->setText(norm.form == NormForm::Op      ? over
                     : norm.form == NormForm::Fused ? tr("%1, fused with its add").arg(over)
                                                    : tr("%1, written out in the file").arg(over));
}

QWidget* NormPage::makeCriteria(QWidget* parent) {
  auto* both = new QWidget(parent);
  auto* row = makeRow(both, 8);
  const auto add = [&](const QString& rule) {
    auto* frame = new QFrame(both);
    auto* lines = makeColumn(frame, 2, {9, 6, 6, 6});
    const Criterion made{frame, makeLabel({}, "strong", frame), makeWords("small", frame)};
    for (QWidget* line : {makeLabel(rule, "small", frame), made.answer, made.note}) lines->addWidget(line);
    row->addWidget(frame, 1);
    return made;
  };
  paper_ = add(tr("Paper criterion"));
  exact_ = add(tr("Exact"));
  exact_.answer->setObjectName(QStringLiteral("exactAnswer"));
  explain(both,
          tr("The paper's Algorithm 1 counts a LayerNorm's output as zero-mean whatever its γ and β, and an embedding "
             "as opaque. The exact rule reads the weights."),
          "gamma_beta");
  return both;
}

void NormPage::showCriteria(const protocol::NormInfo& norm, Verdict verdict) {
  criteria_->setVisible(verdict != Verdict::Unknown && norm.paper != (verdict == Verdict::Free));
  const auto show = [](const Criterion& criterion, const QString& answer, const QString& note, bool bad = false) {
    setKind(criterion.frame, bad ? "criterionBad" : "criterion");
    setKind(criterion.answer, bad ? "bad" : "strong");
    criterion.answer->setText(answer);
    criterion.note->setText(note);
  };
  show(paper_,
       norm.paper             ? tr("foldable")
       : norm.paper_practical ? tr("with centering")
                              : tr("not foldable"),
       norm.paper ? tr("ignores γ and β") : tr("embeddings count as opaque"));
  const PlanMark mark = session_->planMark(norm_);
  if (mark.folded() && verdict == Verdict::Blocked)
    return show(exact_, tr("folded"),
                mark.centerings > 0 ? tr("with a centering at run time") : tr("with a carried mean"));
  switch (verdict) {
    case Verdict::Free:
      show(exact_, tr("folds free"), tr("embeddings can be centered"));
      break;
    case Verdict::WithCentering:
      show(exact_, tr("with centering"), tr("at run time, shared"));
      break;
    case Verdict::Blocked:
      show(exact_, tr("no"), tr("blocked by γ, β or an operator"), true);
      break;
    case Verdict::Unknown:
      break;
  }
}

void NormPage::showConditions(const protocol::NormInfo& norm) {
  QStringList lines;
  const auto inWords = [](const protocol::SizeCondition& condition) {
    return condition.tested.empty() ? text(condition.text)
                                    : tr("%1 (%2)").arg(text(condition.text), text(condition.tested));
  };
  for (const auto& condition : norm.holds_if) lines << tr("Holds if %1.").arg(inWords(condition)).toHtmlEscaped();
  for (const auto& condition : norm.would_fold_if) {
    const QString size = QStringLiteral("%1[%2]=1").arg(text(condition.input)).arg(condition.axis);
    lines << QStringLiteral("%1 <a href=\"%2\">%3</a>")
                 .arg(tr("Would fold if %1.").arg(inWords(condition)).toHtmlEscaped(), size.toHtmlEscaped(),
                      tr("Accept this condition"));
  }
  conditions_->setVisible(!lines.isEmpty());
  conditions_->setText(lines.join(QStringLiteral("<br>")));
}

void NormPage::assume(const QString& size) {
  protocol::InputsParams inputs = session_->inputs();
  inputs.assume.push_back(size.toStdString());
  session_->setInputs(inputs);
}

void NormPage::leave() {
  weight_->showConstant(-1);
  whyNot_->leave();
}

void NormPage::refreshPlan() {
  const protocol::NormInfo* norm = session_->norm(norm_);
  if (norm == nullptr) return;
  plan_->showNorm(norm_);
  showSubtitle(*norm);
  showCriteria(*norm, norm->verdict);
  showNeeds(*norm);
  showButtons();
}

void NormPage::showButtons() {
  const protocol::NormInfo* norm = session_->norm(norm_);
  if (norm == nullptr) return;
  const bool kept = contains(session_->choices()->params().keep_norms, norm_);
  const bool folds = session_->folds(norm_);
  const bool blocked = norm->verdict >= Verdict::Blocked && !folds && !kept;
  goToBlocker_->setVisible(blocked && norm->blocker);
  // For a blocked one a centering is all that can be done, and has its own button with its price.
  foldThis_->setVisible(!blocked);
  foldThis_->setIconName(folds && !kept ? QString() : QStringLiteral("fold"));
  foldThis_->setText(folds && !kept ? tr("Keep as LayerNorm") : tr("Fold this LayerNorm"));
  foldThis_->setToolTip(folds && !kept ? tr("Remove this norm from the plan, with the edits that only it needs.")
                        : kept         ? tr("Fold this norm by the plan again.")
                               : tr("Fold this norm whatever it costs, with the centering or copy that it needs."));
  const auto cost = blocked ? session_->costs()->of(norm_) : std::nullopt;
  const double net = cost ? cost->together().us : 0;
  centerHere_->setText(!cost      ? tr("Center here")
                       : net == 0 ? tr("Center here: no clear difference")
                                  : (net < 0 ? tr("Center here: saves %1") : tr("Center here: costs %1"))
                                        .arg(formatMicroseconds(std::abs(net))));
  const QString cannotRun = session_->cannotRun();
  centerHere_->setEnabled(cannotRun.isEmpty() && session_->inputOfNorm(norm_) >= 0);
  const QString obstacle = session_->choices()->foldObstacle(norm_);
  foldThis_->setEnabled(obstacle.isEmpty());
  if (!obstacle.isEmpty()) foldThis_->setToolTip(obstacle);
}

void NormPage::foldThis() {
  PlanChoices* choices = session_->choices();
  const bool kept = contains(choices->params().keep_norms, norm_);
  kept || session_->folds(norm_) ? choices->keepNorm(norm_, !kept) : choices->foldNorm(norm_);
}

void NormPage::centerHere() { center_->ask(session_->inputOfNorm(norm_)); }

void NormPage::showNeeds(const protocol::NormInfo& norm) {
  // Folded all the same, by a centering, it needs what the plan does for it.
  const bool blocked = norm.verdict == Verdict::Blocked && !session_->folds(norm_);
  const bool priced = norm.verdict == Verdict::Blocked || norm.verdict == Verdict::WithCentering;
  whyNot_->setVisible(priced);
  if (priced) {
    whyNot_->showNorm(norm_);
  } else {
    whyNot_->leave();
  }
  const QVector<Need> needs = blocked ? QVector<Need>() : neededEdits();
  needs_->setNeeds(needs);
  needs_->setCurrent(weight_->constant());
  needsHead_->setVisible(!needs.isEmpty());
  const auto done = std::ranges::count(needs, Need::State::Done, &Need::state);
  needsCount_->setText(done > 0                 ? tr("%1 centered").arg(done)
                       : session_->folds(norm_) ? tr("%1 to center").arg(needs.size())
                                                : tr("%1, if it folds").arg(needs.size()));
  const int others = static_cast<int>(norm.shared_with.size());
  shared_->setVisible(others > 0);
  shared_->setText(others == 1 ? tr("One other norm uses the same centering.")
                               : tr("%1 other norms use the same centering.").arg(others));
}

QVector<Need> NormPage::neededEdits() const {
  // Lists the plan's edits for it, where the plan folds it: that may be another way than the verdict's.
  const bool planned = session_->folds(norm_);
  const bool folded = planned && session_->foldResult() && session_->foldResult()->ok;
  QVector<Need> needs;
  for (const protocol::EditInfo& edit : planned ? session_->plan()->edits : session_->analysis()->edits) {
    if (!edit.frees.contains(norm_) || edit.kind == EditKind::AbsorbShift || edit.kind == EditKind::ReplaceNorm)
      continue;
    const bool runTime = edit.kind == EditKind::InsertCentering;
    const bool drops = edit.kind == EditKind::DropAddend;
    const protocol::GraphValue* value = edit.values.empty() ? nullptr : session_->index().value(edit.values.front());
    const int constant = value != nullptr && value->constant ? value->id : -1;
    QString status = runTime ? tr("at run time") : folded ? tr("centered") : planned ? tr("to center") : tr("center");
    if (drops) status = folded ? tr("dropped") : planned ? tr("to drop") : tr("drop");
    needs.push_back({runTime ? u'A'
                     : drops ? u'Z'
                             : u'L',
                     text(edit.subject), text(edit.because), status, folded ? Need::State::Done : Need::State::Plain,
                     constant});
  }
  return needs;
}

void NormPage::showAttributes() {
  const protocol::NormInfo* norm = session_->norm(norm_);
  if (norm == nullptr) return;
  const int digits = session_->digits();
  attributes_->setProperties(
      {{tr("normalized_shape"),
        norm->normalized_shape.empty()
            ? tr("not known")
            : u'[' + formatShape(norm->normalized_shape).replace(u'×', QStringLiteral(", ")) + u']',
        tr("The trailing axes over which mean and variance are taken.")},
       {tr("groups"), QString::number(norm->groups), tr("Each group of channels has a mean of its own.")},
       {tr("eps"), formatNumber(norm->eps, digits), tr("Added to the variance. The RMSNorm uses the same value.")},
       {tr("γ range"), norm->has_gamma ? range(norm->gamma_min, norm->gamma_max, digits) : tr("none"),
        tr("The norm's weight. Where it varies, the norm's output is not zero-mean.")},
       {tr("β range"), norm->has_beta ? range(norm->beta_min, norm->beta_max, digits) : tr("none"),
        tr("The norm's bias. It stays, or moves into the layers that follow.")},
       {tr("place"), tr("%1 of %2").arg(norm->index + 1).arg(session_->analysis()->totals.layer_norms),
        tr("Its position among the LayerNorms, in execution order.")}});
}

}  // namespace normlens::ui

#include "norm_page.moc"
