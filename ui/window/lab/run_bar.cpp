#include "ui/window/lab/run_bar.h"

#include <QLabel>
#include <QMenu>
#include <QProgressBar>

#include "ui/session/words/lab_words.h"
#include "ui/session/words/remaining_time.h"
#include "ui/theme/theme.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/push_button.h"
#include "ui/window/parts.h"

namespace normlens::ui {
namespace {

constexpr int kRunHeight = 60, kProgress = 150, kProgressHeight = 6;

using State = LabRuns::State;

}  // namespace

RunBar::RunBar(LabRuns* runs, QWidget* parent) : QFrame(parent), runs_(runs) {
  setObjectName(QStringLiteral("lessonsBar"));
  setTextHeight(this, kRunHeight);
  auto* row = makeRow(this, 8, {16, 0, 16, 0});
  auto* words = makeColumn(nullptr, 2);
  title_ = describe(new ElidedLabel({}, Qt::ElideRight, this), "labTitle");
  setKind(title_, "title");
  line_ = describe(new ElidedLabel({}, Qt::ElideRight, this), "labLine");
  words->addStretch();
  words->addWidget(title_);
  words->addWidget(line_);
  words->addStretch();
  row->addLayout(words, 1);
  makeProgress();
  makeButtons();
  connect(runs_, &LabRuns::changed, this, &RunBar::refresh);
  connect(runs_, &LabRuns::recorded, this, &RunBar::refresh);
}

void RunBar::makeProgress() {
  progress_ = new QWidget(this);
  setTextWidth(progress_, kProgress);
  auto* column = makeColumn(progress_, 4);
  progressWords_ = describe(makeLabel({}, "fact", progress_), "labProgressWords");
  bar_ = describe(new QProgressBar(progress_), "labProgress", {}, tr("Progress of the run"));
  bar_->setRange(0, 1000);
  bar_->setTextVisible(false);
  bar_->setFixedHeight(kProgressHeight);
  column->addStretch();
  column->addWidget(progressWords_);
  column->addWidget(bar_);
  column->addStretch();
  layout()->addWidget(progress_);
}

void RunBar::makeButtons() {
  act_ = describe(new PushButton(tr("Pause"), PushButton::Look::Filled, this), "labAct");
  stop_ = describe(new PushButton(tr("Stop"), PushButton::Look::Outlined, this), "labStop",
                   tr("End the run here; what was trained is kept."));
  export_ = describe(new PushButton(tr("Export"), PushButton::Look::Outlined, this), "labExport",
                     tr("The charts, the table, or the settings that make this run again."));
  auto* menu = new QMenu(export_);
  menu->addAction(tr("Charts as a picture…"), this, &RunBar::pictureWanted);
  menu->addAction(tr("Table…"), this, &RunBar::tableWanted);
  menu->addAction(tr("Settings of the run…"), this, &RunBar::settingsWanted);
  export_->setMenu(menu);
  for (PushButton* button : {act_, stop_, export_}) layout()->addWidget(button);
  // Go on does not come to where Stop was: a second click would begin again.
  QSizePolicy kept = stop_->sizePolicy();
  kept.setRetainSizeWhenHidden(true);
  stop_->setSizePolicy(kept);
  connect(act_, &PushButton::clicked, this, &RunBar::act);
  connect(stop_, &PushButton::clicked, runs_, &LabRuns::stop);
}

void RunBar::show(const KeptRun* run, std::string_view experiment) {
  shown_ = run != nullptr ? run->number : 0;
  const LabWord word = experimentWord(run != nullptr ? run->settings.experiment : experiment);
  title_->setFullText(run != nullptr ? word.name + QStringLiteral(", ") + labRunWord(run->number) : word.name);
  usualLine_ = word.tip;
  refresh();
}

QString RunBar::progressWords() const {
  switch (runs_->state()) {
    case State::Idle:
      return {};
    case State::Starting:
      return tr("LibTorch starts");
    case State::Pausing:
      return tr("Pauses after this step");
    case State::Paused:
      return tr("Paused at %1 %").arg(qRound(100 * runs_->fraction()));
    case State::Stopping:
      return tr("Stops, and keeps what it has");
    case State::Training:
      break;
  }
  const QString left = remainingWords(runs_->remainingMs());
  const QString done = tr("Run %1: %2 %").arg(runs_->running()).arg(qRound(100 * runs_->fraction()));
  return left.isEmpty() ? done : done + QStringLiteral(", ") + left;
}

void RunBar::refresh() {
  const bool problem = !runs_->problem().isEmpty();
  line_->setFullText(problem ? runs_->problem() : usualLine_);
  setKind(line_, problem ? "error" : "soft");
  const State state = runs_->state();
  progress_->setVisible(runs_->busy());
  progressWords_->setText(progressWords());
  bar_->setValue(qRound(1000 * runs_->fraction()));
  const KeptRun* run = runs_->run(shown_);
  const bool unfinished = run != nullptr && !run->isDone();
  const bool goesOn = state == State::Pausing || state == State::Paused;
  act_->setText(!runs_->busy() || goesOn ? tr("Go on") : tr("Pause"));
  act_->setToolTip(runs_->busy() ? goesOn ? tr("From where it stands.") : tr("Between two steps.")
                   : unfinished && run->hasCheckpoint() ? tr("From the last epoch that was kept.")
                                                        : tr("From the beginning: there is no checkpoint."));
  act_->setEnabled(runs_->busy() ? state == State::Training || goesOn : unfinished);
  act_->setVisible(runs_->busy() || unfinished);
  stop_->setEnabled(runs_->busy() && state != State::Stopping);
  stop_->setVisible(runs_->busy());
  export_->setEnabled(run != nullptr);
}

void RunBar::act() {
  if (!runs_->busy()) return runs_->resume(shown_);
  runs_->state() == State::Training ? runs_->pause() : runs_->goOn();
}

}  // namespace normlens::ui
