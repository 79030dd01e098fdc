#include "ui/window/lab/lab_page.h"

#include <QDir>
#include <QElapsedTimer>
#include <QFileInfo>
#include <QHeaderView>
#include <QMenu>
#include <QPainter>
#include <QProgressBar>
#include <QScrollArea>
#include <QTableView>
#include <algorithm>

#include "core/base/files.h"
#include "ui/client/engine_client.h"
#include "ui/models/lab_table.h"
#include "ui/session/lab/lab_runs.h"
#include "ui/session/session.h"
#include "ui/widgets/delegates/figure_delegate.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/push_button.h"
#include "ui/window/lab/claim_cards.h"
#include "ui/window/lab/lab_figures.h"
#include "ui/window/lab/network_mark.h"
#include "ui/window/lab/settings_form.h"
#include "ui/window/learn/learn_bar.h"
#include "ui/window/parts.h"
#include "ui/words/lab_words.h"
#include "ui/words/remaining_time.h"

namespace normlens::ui {
namespace {

constexpr int kProgress = 150, kProgressHeight = 6;

using State = LabRuns::State;

constexpr int kFormWidth = 336, kRow = 28, kTable = 200, kPageGap = 16;
constexpr int kSoonMs = 150, kPauses = 8;  // between two drawings, also as a multiple of one

constexpr size_t kMostSettings = 1 << 20;  // bytes

}  // namespace

// The bar above the charts: which run is shown, how far the one that is trained has come, and what can be done with it.
class RunBar final : public QFrame {
  Q_OBJECT

 public:
  // Not owned.
  RunBar(LabRuns* runs, QWidget* parent) : QFrame(parent), runs_(runs) {
    setObjectName(QStringLiteral("lessonsBar"));
    auto* column = makeColumn(this, 2, {16, 8, 16, 8});
    row_ = makeRow(nullptr, 8);
    title_ = describe(new ElidedLabel({}, Qt::ElideRight, this), "labTitle");
    setKind(title_, "title");
    line_ = describe(makeWords("soft", this), "labLine");
    line_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);  // a long word makes the page no wider
    row_->addWidget(title_, 1);
    column->addLayout(row_);
    column->addWidget(line_);
    makeProgress();
    makeButtons();
    connect(runs_, &LabRuns::changed, this, &RunBar::refresh);
    connect(runs_, &LabRuns::recorded, this, &RunBar::refresh);
  }

  // run: nullptr where none is shown.
  void show(const KeptRun* run) {
    shown_ = run != nullptr ? run->number : 0;
    const LabWord word = run != nullptr ? labWord(run->settings.experiment) : LabWord{};
    title_->setFullText(run != nullptr ? word.name + QStringLiteral(", ") + labRunWord(run->number) : tr("No run"));
    usualLine_ = word.tip;
    refresh();
  }

 Q_SIGNALS:
  void pictureWanted();
  void tableWanted();
  void settingsWanted();  // Wants the shown run's as a file.
  void fullPageWanted(bool on);

 private:
  void makeProgress() {
    progress_ = new QWidget(this);
    setTextWidthAtLeast(progress_, kProgress);  // the title gives way to what is left
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
    row_->addWidget(progress_);
  }
  void makeButtons() {
    act_ = describe(new PushButton(tr("Pause"), PushButton::Look::Filled, this), "labAct");
    stop_ = describe(new PushButton(tr("Stop"), PushButton::Look::Outlined, this), "labStop",
                     tr("Stop the run here; the trained networks are kept."));
    export_ = describe(new PushButton(tr("Export"), PushButton::Look::Outlined, this), "labExport",
                       tr("Export the charts, the table, or the settings that repeat this run."));
    auto* menu = new QMenu(export_);
    menu->addAction(tr("Charts as a picture…"), this, &RunBar::pictureWanted);
    menu->addAction(tr("Table…"), this, &RunBar::tableWanted);
    menu->addAction(tr("Settings of the run…"), this, &RunBar::settingsWanted);
    export_->setMenu(menu);
    auto* full = describe(new PushButton(tr("Full page"), PushButton::Look::Outlined, this), "labFull",
                          tr("Hide or show the cards."));
    full->setCheckable(true);
    connect(full, &PushButton::toggled, this, [this, full](bool on) {
      full->setText(on ? tr("Show cards") : tr("Full page"));
      Q_EMIT fullPageWanted(on);
    });
    for (PushButton* button : {act_, stop_, export_, full}) row_->addWidget(button);
    // Go on does not come to where Stop was: a second click would begin again.
    QSizePolicy kept = stop_->sizePolicy();
    kept.setRetainSizeWhenHidden(true);
    stop_->setSizePolicy(kept);
    connect(act_, &PushButton::clicked, this, &RunBar::act);
    connect(stop_, &PushButton::clicked, runs_, &LabRuns::stop);
  }
  void refresh() {
    const bool problem = !runs_->problem().isEmpty();
    line_->setText(problem ? runs_->problem() : usualLine_);
    setKind(line_, problem ? "error" : "soft");
    const State state = runs_->state();
    progress_->setVisible(runs_->busy());
    progressWords_->setText(progressWords());
    bar_->setValue(qRound(1000 * runs_->fraction()));
    const KeptRun* run = runs_->run(shown_);
    const bool unfinished = run != nullptr && !run->isDone();
    const bool goesOn = state == State::Pausing || state == State::Paused;
    act_->setText(!runs_->busy() || goesOn ? tr("Resume") : tr("Pause"));
    act_->setToolTip(runs_->busy() ? goesOn ? tr("Resume the training.") : tr("Pause after this step.")
                     : unfinished && run->hasCheckpoint() ? tr("Resume from the last saved epoch.")
                                                          : tr("Start again: the run has no checkpoint."));
    act_->setEnabled(runs_->busy() ? state == State::Training || goesOn : unfinished);
    act_->setVisible(runs_->busy() || unfinished);
    stop_->setEnabled(runs_->busy() && state != State::Stopping);
    stop_->setVisible(runs_->busy());
    export_->setEnabled(run != nullptr);
  }
  // Does what the first button is labeled with.
  void act() {
    if (!runs_->busy()) return runs_->resume(shown_);
    runs_->state() == State::Training ? runs_->pause() : runs_->goOn();
  }
  [[nodiscard]] QString progressWords() const {
    switch (runs_->state()) {
      case State::Idle:
        return {};
      case State::Starting:
        return tr("Starting LibTorch");
      case State::Pausing:
        return tr("Pausing after this step");
      case State::Paused:
        return tr("Paused at %1%").arg(qRound(100 * runs_->fraction()));
      case State::Stopping:
        return tr("Stopping; results are kept");
      case State::Training:
        break;
    }
    const QString left = remainingWords(runs_->remainingMs());
    const QString done = tr("Run %1: %2%").arg(runs_->running()).arg(qRound(100 * runs_->fraction()));
    return left.isEmpty() ? done : done + QStringLiteral(", ") + left;
  }

  LabRuns* runs_;
  QBoxLayout* row_;
  int shown_ = 0;  // its number; 0: none
  ElidedLabel* title_;
  QLabel *line_, *progressWords_ = nullptr;
  QWidget* progress_ = nullptr;
  QProgressBar* bar_ = nullptr;
  PushButton *act_ = nullptr, *stop_ = nullptr, *export_ = nullptr;
  QString usualLine_;
};

LabPage::LabPage(Session* session, LabRuns* runs, QWidget* parent)
    : FiguresPage(LearnPageKind::Laboratory, session, parent), runs_(runs), table_(new LabTable(this)) {
  setObjectName(QStringLiteral("labPage"));
  QWidget* side = makeSide(
      kFormWidth, [this](QWidget* area) { return makeControls(area); }, [this](QWidget* at) { return makeFoot(at); });
  fill(makeLeft(side), makeFigures());
  soon_.setSingleShot(true);
  soon_.setInterval(kSoonMs);
  connect(&soon_, &QTimer::timeout, this, &LabPage::showRows);
  connect(runs_, &LabRuns::changed, this, &LabPage::refresh);
  connect(runs_, &LabRuns::recorded, this, [this] {
    if (!soon_.isActive()) soon_.start();
  });
  connect(session_, &Session::modelChanged, this, &LabPage::refresh);
  const auto showDevices = [this] { form_->setDevices(devicesOf(*session_->engine())); };
  connect(session_->engine(), &EngineClient::stateChanged, this, showDevices);
  showDevices();
  refresh();
}

QWidget* LabPage::makeControls(QWidget* side) {
  auto* inside = new QWidget(side);
  auto* column = makeColumn(inside, 8, {8, 14, 12, 14});
  auto* back = makeButton(tr("All claims"), "link", inside);
  back->setObjectName(QStringLiteral("labClaims"));
  connect(back, &QPushButton::clicked, this, [this] { showForm(false); });
  column->addWidget(back, 0, Qt::AlignLeft);
  auto* settings = makeColumn(nullptr, 8, {10, 6, 6, 0});
  auto* head = makeRow(nullptr);
  head->addWidget(makeLabel(tr("Settings"), "section", inside));
  head->addStretch();
  locked_ = makeLabel(tr("locked while training"), "soft", inside);
  head->addWidget(locked_);
  settings->addLayout(head);
  form_ = describe(new SettingsForm(inside), "labForm");
  settings->addWidget(form_);
  column->addLayout(settings);
  column->addStretch();
  connect(form_, &SettingsForm::changed, this, &LabPage::followForm);
  return inside;
}

// The cards, or the settings of a run.
QWidget* LabPage::makeLeft(QWidget* side) {
  auto* left = new QWidget(this);
  auto* row = makeRow(left);
  side_ = side;
  cardsArea_ = makeScrollArea(left, tr("Claims"), Qt::ScrollBarAlwaysOff);
  auto* ground = describe(new QFrame(cardsArea_), "figureGround");
  cards_ = describe(new ClaimCards(runs_, ground), "labCards");
  makeColumn(ground)->addWidget(cards_);
  cardsArea_->setWidget(ground);
  row->addWidget(cardsArea_);
  row->addWidget(side_);
  connect(cards_, &ClaimCards::startWanted, this, [this](lab::Experiment claim) { start(lab::usualSettings(claim)); });
  connect(cards_, &ClaimCards::settingsWanted, this, [this](lab::Experiment claim) {
    if (!runs_->busy()) useSettings(lab::usualSettings(claim));
    showForm(true);
  });
  connect(cards_, &ClaimCards::fileWanted, this, &LabPage::openSettings);
  connect(cards_, &ClaimCards::runWanted, this, [this](int number) {
    showRow(view_, table_->index(table_->rowWhere([&](const LabRow& each) { return each.run == number; }), 0));
  });
  left_ = left;
  showForm(false);
  return left;
}

void LabPage::showForm(bool form) {
  side_->setVisible(form);
  cardsArea_->setVisible(!form);
  QSizePolicy policy(form ? QSizePolicy::Fixed : QSizePolicy::Ignored, QSizePolicy::Preferred);
  policy.setHorizontalStretch(form ? 0 : 1);
  left_->setSizePolicy(policy);
}

QWidget* LabPage::makeFoot(QWidget* side) {
  auto* foot = describe(new QFrame(side), "lessonsFoot");
  auto* column = makeColumn(foot, 6, {18, 10, 18, 10});
  problem_ = describe(makeWords("error", foot), "labProblem");
  column->addWidget(problem_);
  auto* row = makeRow(nullptr, 8);
  start_ =
      describe(new PushButton(tr("Start"), PushButton::Look::Filled, foot), "labStart", tr("Train these networks."));
  open_ = describe(new PushButton(tr("Open…"), PushButton::Look::Outlined, foot), "labOpen",
                   tr("Load the settings of a run from a file of “normlens lab”."));
  save_ = describe(new PushButton(tr("Save…"), PushButton::Look::Outlined, foot), "labSave",
                   tr("Save these settings to a file. “normlens lab” trains the same run without a window."));
  for (PushButton* button : {start_, open_, save_}) row->addWidget(button);
  row->addStretch();
  column->addLayout(row);
  connect(start_, &PushButton::clicked, this, [this] { start(form_->settings()); });
  connect(open_, &PushButton::clicked, this, &LabPage::openSettings);
  connect(save_, &PushButton::clicked, this, [this] { saveSettings(form_->settings()); });
  return foot;
}

QWidget* LabPage::makeFigures() {
  auto* right = new QWidget(this);
  auto* column = makeColumn(right);
  runBar_ = new RunBar(runs_, right);
  column->addWidget(runBar_);
  auto* area = makeScrollArea(right, tr("Charts of the run"));
  auto* ground = describe(new QWidget(area), "figureGround");
  auto* inside = makeColumn(ground, kPageGap, {kPageGap, kPageGap, kPageGap, kPageGap});
  empty_ = describe(makeNotice(ground), "labEmpty");
  empty_->setText(
      tr("Start a card: its charts appear here. All networks of a run start from the same weights and read the same "
         "examples."));
  figures_ = describe(new LabFigures(ground), "labFigures");
  inside->addWidget(empty_, 1);
  inside->addWidget(figures_, 1);
  makeTable(ground);
  inside->addWidget(view_);
  area->setWidget(ground);
  column->addWidget(area, 1);
  const QString usualName = QStringLiteral("laboratory");
  connect(runBar_, &RunBar::pictureWanted, this, [this, usualName] {
    savePicture("labPictureDialog", usualName, figures_, [this](QPainter& painter) { figures_->render(&painter); });
  });
  connect(runBar_, &RunBar::fullPageWanted, this, [this](bool on) { left_->setVisible(!on); });
  connect(runBar_, &RunBar::tableWanted, this,
          [this, usualName] { saveTable("labTableDialog", tr("Save the table"), usualName, table_); });
  connect(runBar_, &RunBar::settingsWanted, this, [this] {
    const auto place = shownPlace();
    if (const KeptRun* run = place ? runs_->run(place->run) : nullptr) saveSettings(run->settings);
  });
  return right;
}

void LabPage::makeTable(QWidget* parent) {
  view_ = ui::makeTable("labTable", tr("Networks of the kept runs"), kRow, table_, parent,
                        [this](QMenu* menu, const QModelIndex& at) { extendMenu(menu, at); });
  view_->setItemDelegate(new LabDelegate(view_));
  view_->horizontalHeader()->setStretchLastSection(true);
  view_->setMinimumHeight(grown(kTable));
  setColumnWidths(view_, {{LabTable::Tick, 26},
                          {LabTable::Run, 44},
                          {LabTable::Network, 156},
                          {LabTable::Layers, 62},
                          {LabTable::Seed, 50},
                          {LabTable::Precision, 76},
                          {LabTable::State, 116},
                          {LabTable::Loss, 76},
                          {LabTable::Accuracy, 74},
                          {LabTable::Difference, 110},
                          {LabTable::StepTime, 104},
                          {LabTable::Memory, 84},
                          {LabTable::Weights, 80}});
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &LabPage::showFigures);
  connect(table_, &LabTable::ticked, this, &LabPage::showFigures);
  connect(view_, &QTableView::activated, this, &LabPage::openWeights);
  connect(view_, &QTableView::clicked, this, [this](const QModelIndex& at) {
    if (at.column() == LabTable::Weights) openWeights(at);
  });
}

void LabPage::extendMenu(QMenu* menu, const QModelIndex& at) {
  if (!at.isValid()) return;
  const LabRow& row = table_->row(at.row());
  const KeptRun* run = runs_->run(row.run);
  if (run == nullptr) return;
  const auto add = [&](const QString& words, bool enabled, const auto& does) {
    menu->addAction(words, this, does)->setEnabled(enabled);
  };
  add(tr("Open the trained network"), !row.weights.isEmpty(), [this, path = row.weights] { Q_EMIT modelWanted(path); });
  add(tr("Resume the run"), !runs_->busy() && !run->isDone(), [this, run = row.run] { runs_->resume(run); });
  if (run->settings.device != "cpu") {
    add(tr("Resume the run on the CPU"), !runs_->busy() && !run->isDone(),
        [this, run = row.run] { runs_->resume(run, "cpu"); });
  }
  add(tr("Use its settings"), !runs_->busy(), [this, settings = run->settings] { useSettings(settings); });
}

void LabPage::useSettings(const lab::RunSettings& settings) {
  showForm(true);
  form_->setSettings(settings);
  followForm();
}

void LabPage::followForm() {
  const QString problem = form_->problem();
  problem_->setText(problem);
  problem_->setVisible(!problem.isEmpty());
  start_->setEnabled(problem.isEmpty() && !runs_->busy() && !runs_->isReading());
  save_->setEnabled(problem.isEmpty());
}

// Of a file: its place is in the form.
void LabPage::showProblem(const QString& problem) {
  showForm(true);
  problem_->setText(problem);
  problem_->setVisible(!problem.isEmpty());
}

void LabPage::start(const lab::RunSettings& settings) {
  runs_->start(settings);
  view_->setCurrentIndex(table_->index(0, 0));
  view_->setFocus();
}

void LabPage::refresh() {
  bar_->setModelName(session_->title());
  form_->setEnabled(!runs_->busy());
  locked_->setVisible(runs_->busy());
  open_->setEnabled(!runs_->busy());
  followForm();
  showRows();
}

void LabPage::showRows() {
  QElapsedTimer watch;
  watch.start();
  cards_->refresh();
  const auto before = shownPlace();
  table_->show(runs_->runs(), runs_->running());
  const int row = before ? table_->rowWhere([&](const LabRow& each) {
    return LabPlace{each.run, each.member} == *before;
  })
                         : -1;
  if (view_->currentIndex().row() != std::max(row, 0)) view_->setCurrentIndex(table_->index(std::max(row, 0), 0));
  showFigures();
  soon_.setInterval(std::max(kSoonMs, kPauses * static_cast<int>(watch.elapsed())));
}

void LabPage::showFigures() {
  const bool some = table_->rowCount() > 0;
  empty_->setVisible(!some && !runs_->isReading());
  figures_->setVisible(some);
  view_->setVisible(some);
  const auto place = shownPlace();
  runBar_->show(place ? runs_->run(place->run) : nullptr);
  if (place) figures_->show(runs_->runs(), *place, tickedPlaces());
}

std::optional<LabPlace> LabPage::shownPlace() const {
  const int row = view_->currentIndex().row();
  if (row < 0 || row >= table_->rowCount()) return std::nullopt;
  return LabPlace{table_->row(row).run, table_->row(row).member};
}

std::vector<LabPlace> LabPage::tickedPlaces() const {
  std::vector<LabPlace> places;
  for (const LabRow& row : table_->rows()) {
    if (row.ticked) places.push_back({row.run, row.member});
  }
  return places;
}

void LabPage::openWeights(const QModelIndex& at) {
  const QString& weights = table_->row(at.row()).weights;
  if (!weights.isEmpty()) Q_EMIT modelWanted(weights);
}

void LabPage::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  // Later: the palettes of the charts change after this one.
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange)
    QMetaObject::invokeMethod(this, &LabPage::showFigures, Qt::QueuedConnection);
}

// ---- the files that it reads and writes

void LabPage::openSettings() {
  const FileQuestion question{QStringLiteral("labOpenDialog"),
                              tr("Open the settings of a run"),
                              {tr("Settings of a run (*.json)")},
                              folderOf(session_->path())};
  askForFile(this, question, [this](const QString& path) {
    const auto read = files::readSmall(path.toStdString(), kMostSettings);
    if (!read) return showProblem(tr("%1 could not be read.").arg(path));
    auto settings = lab::readRunSettings(*read);
    if (!settings) return showProblem(asSentence(text(settings.error().message)));
    if (std::string& examples = settings->data.path; !examples.empty())  // from the file's own folder
      examples = QFileInfo(path).dir().absoluteFilePath(text(examples)).toStdString();
    useSettings(*settings);
  });
}

void LabPage::saveSettings(const lab::RunSettings& settings) {
  save("labSaveDialog", tr("Save the settings"), {tr("Settings of a run (*.json)")}, text(nameOf(settings.experiment)),
       [settings](const QString& path) {
         return writeFile(path, QByteArray::fromStdString(lab::writeRunSettings(settings)));
       });
}

}  // namespace normlens::ui

#include "lab_page.moc"
