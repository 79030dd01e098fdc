#include "ui/window/lab/claim_cards.h"

#include <QBoxLayout>
#include <QGridLayout>
#include <QLocale>
#include <algorithm>

#include "ui/session/lab/lab_runs.h"
#include "ui/theme/theme.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/push_button.h"
#include "ui/window/parts.h"
#include "ui/words/format.h"
#include "ui/words/lab_words.h"

namespace normlens::ui {
namespace {

constexpr int kBetweenCards = 14, kTwoCards = 560;

// The newest run of the claim as its card has it, on any device and from any seeds; nullptr: there is none.
const KeptRun* runOf(const LabRuns& runs, lab::Experiment claim) {
  lab::RunSettings settings = lab::usualSettings(claim);
  const auto found = std::ranges::find_if(runs.runs(), [&](const KeptRun& run) {
    settings.device = run.settings.device;
    settings.threads = run.settings.threads;
    settings.seeds = run.settings.seeds;
    return settings == run.settings;
  });
  return found == runs.runs().end() ? nullptr : &*found;
}

struct Outcome {
  QString words, tip;
  const char* kind = "soft";
};

Outcome outcomeOf(const KeptRun& run) {
  const QString date = QLocale::c().toString(run.ended.date(), QStringLiteral("MMM d"));
  const auto fails = std::ranges::find(run.findings, std::optional(false), &lab::Finding::holds);
  const auto open = std::ranges::find(run.findings, std::optional<bool>(), &lab::Finding::holds);
  if (!run.isDone()) return {ClaimCards::tr("stopped before its end"), {}};
  if (run.findings.empty()) return {ClaimCards::tr("ran on %1").arg(date), {}};
  QStringList all;
  for (const lab::Finding& finding : run.findings) all << findingWords(finding).left(300);
  const QString tip = all.mid(0, 12).join(u'\n');
  const auto words = [&](const QString& verdict, const lab::Finding& finding) {
    return verdict.arg(date, text(finding.text).section(u';', 0, 0));
  };
  if (fails != run.findings.end()) return {words(ClaimCards::tr("not confirmed on %1: %2"), *fails), tip, "error"};
  if (open != run.findings.end()) return {words(ClaimCards::tr("undecided on %1: %2"), *open), tip};
  return {words(ClaimCards::tr("confirmed on %1: %2"), run.findings.front()), tip, "passed"};
}

}  // namespace

ClaimCards::ClaimCards(const LabRuns* runs, QWidget* parent) : QWidget(parent), runs_(runs) {
  auto* column = makeColumn(this, kBetweenCards, {20, 18, 20, 18});
  auto* title = makeWords("title", this, tr("Which claim do you want to test?"));
  column->addWidget(title);
  column->addWidget(
      makeWords("soft", this, tr("Each card trains small networks on this machine and draws what happens.")));
  grid_ = new QGridLayout;
  grid_->setSpacing(kBetweenCards);
  column->addLayout(grid_);
  for (const lab::Experiment claim : lab::kExperiments) {
    if (claim != lab::Experiment::Continued) cards_.emplace(claim, makeClaim(claim));
  }
  own_ = makeOwn();
  column->addStretch();
  arrange(2);
}

// A card with its words; the layout is its frame's.
QBoxLayout* ClaimCards::makeWordsCard(const LabWord& word) {
  auto* frame = makeCard(this);
  auto* column = makeColumn(frame, 6, {14, 12, 14, 12});
  column->addWidget(makeWords("strong", frame, word.name));
  column->addWidget(makeWords("soft", frame, word.line));
  column->addWidget(makeWords("fact", frame, word.tip));
  column->addStretch();
  return column;
}

ClaimCards::Card ClaimCards::makeClaim(lab::Experiment claim) {
  const QByteArray key = text(nameOf(claim)).toLatin1();
  auto* column = makeWordsCard(labWord(claim));
  Card card{};
  card.frame = column->parentWidget();
  card.state = describe(makeWords("soft", card.frame), ("labState_" + key).constData());
  card.state->installEventFilter(this);
  card.time = new ElidedLabel({}, Qt::ElideRight, card.frame);
  setKind(card.time, "soft");
  column->addWidget(card.state);
  column->addWidget(card.time);
  auto* foot = makeRow(nullptr, 6);
  foot->addStretch();
  auto* settings = makeButton(tr("Change settings"), "link", card.frame);
  settings->setObjectName(QStringLiteral("labSettings_") + QLatin1String(key));
  card.show =
      describe(new PushButton(tr("Show"), PushButton::Look::Outlined, card.frame), ("labShow_" + key).constData());
  card.start =
      describe(new PushButton(tr("Start"), PushButton::Look::Outlined, card.frame), ("labStart_" + key).constData());
  foot->addWidget(settings);
  foot->addWidget(card.show);
  foot->addWidget(card.start);
  column->addLayout(foot);
  connect(settings, &QPushButton::clicked, this, [this, claim] { Q_EMIT settingsWanted(claim); });
  connect(card.start, &QPushButton::clicked, this, [this, claim] { Q_EMIT startWanted(claim); });
  connect(card.show, &QPushButton::clicked, this, [this, claim] { showRun(claim); });
  return card;
}

QWidget* ClaimCards::makeOwn() {
  auto* column = makeWordsCard(
      {tr("Your own"), tr("MLP, transformer, convolutions, continued training"),
       tr("Choose the network, data, optimizer, norms, seeds and precision, or open settings from a file.")});
  QWidget* frame = column->parentWidget();
  auto* foot = makeRow(nullptr, 6);
  foot->addStretch();
  auto* open = describe(new PushButton(tr("Open a file…"), PushButton::Look::Outlined, frame), "labOpenOwn");
  auto* setUp = describe(new PushButton(tr("Set up"), PushButton::Look::Outlined, frame), "labOwn");
  foot->addWidget(open);
  foot->addWidget(setUp);
  column->addLayout(foot);
  connect(open, &QPushButton::clicked, this, &ClaimCards::fileWanted);
  connect(setUp, &QPushButton::clicked, this, [this] { Q_EMIT settingsWanted(lab::Experiment::Equivalence); });
  return frame;
}

void ClaimCards::arrange(int columns) {
  if (columns == columns_) return;
  columns_ = columns;
  int place = 0;
  const auto put = [&](QWidget* card) {
    grid_->removeWidget(card);
    grid_->addWidget(card, place / columns, place % columns);
    ++place;
  };
  for (const auto& [claim, card] : cards_) put(card.frame);
  put(own_);
  for (int column = 0; column < 2; ++column) grid_->setColumnStretch(column, column < columns ? 1 : 0);
}

void ClaimCards::showRun(lab::Experiment claim) {
  if (const KeptRun* run = runOf(*runs_, claim)) Q_EMIT runWanted(run->number);
}

bool ClaimCards::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::MouseButtonRelease) {
    const auto card = std::ranges::find(cards_, watched, [](const auto& each) { return each.second.state; });
    if (card != cards_.end()) showRun(card->first);
  }
  return QWidget::eventFilter(watched, event);
}

void ClaimCards::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  arrange(width() < grown(kTwoCards) ? 1 : 2);
}

void ClaimCards::refresh() {
  for (const auto& [claim, card] : cards_) refresh(claim, card);
}

void ClaimCards::refresh(lab::Experiment claim, const Card& card) {
  const KeptRun* run = runOf(*runs_, claim);
  Outcome state{tr("not run yet"), {}};
  if (run != nullptr && run->number == runs_->running()) {
    state = {tr("running, %1%").arg(qRound(100 * runs_->fraction())), {}, "strong"};
  } else if (run != nullptr) {
    state = outcomeOf(*run);
  }
  card.state->setText(state.words);
  card.state->setToolTip(state.tip);
  card.state->setCursor(run != nullptr ? Qt::PointingHandCursor : Qt::ArrowCursor);
  setKind(card.state, state.kind);
  const bool timed = run != nullptr && run->isDone() && run->seconds > 0;
  card.time->setFullText(timed ? tr("took %1 here").arg(formatMilliseconds(run->seconds * 1000))
                               : tr("not timed on this machine yet"));
  card.show->setVisible(run != nullptr);
  card.start->setEnabled(!runs_->busy() && !runs_->isReading());
}

}  // namespace normlens::ui
