#include "ui/window/lab/lab_page.h"

#include <QButtonGroup>
#include <QElapsedTimer>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QMenu>
#include <QScrollArea>
#include <QTableView>
#include <algorithm>

#include "ui/client/engine_client.h"
#include "ui/models/lab_table.h"
#include "ui/session/lab/lab_runs.h"
#include "ui/session/session.h"
#include "ui/session/words/lab_words.h"
#include "ui/theme/theme.h"
#include "ui/widgets/delegates/figure_delegate.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/push_button.h"
#include "ui/window/lab/lab_figures.h"
#include "ui/window/lab/network_mark.h"
#include "ui/window/lab/run_bar.h"
#include "ui/window/lab/settings_form.h"
#include "ui/window/learn/learn_bar.h"
#include "ui/window/parts.h"

namespace normlens::ui {
namespace {

constexpr int kFormWidth = 316, kRow = 28, kTable = 200, kPageGap = 16;
constexpr int kSoonMs = 150, kPauses = 8;  // between two drawings, also as a multiple of one

QPushButton* makeExperiment(const LabWord& word, QWidget* parent) {
  auto* button = new QPushButton(parent);
  button->setProperty("kind", "experiment");
  button->setCheckable(true);
  button->setToolTip(word.tip);
  button->setAccessibleName(word.name);
  auto* column = makeColumn(button, 1, {14, 5, 10, 5});
  for (QLabel* label : {makeLabel(word.name, "strong", button), makeLabel(word.line, "soft", button)}) {
    label->setAttribute(Qt::WA_TransparentForMouseEvents);
    column->addWidget(label);
  }
  return button;
}

}  // namespace

LabPage::LabPage(Session* session, LabRuns* runs, QWidget* parent)
    : QWidget(parent),
      session_(session),
      runs_(runs),
      table_(new LabTable(this)),
      bar_(new LearnBar(LearnPageKind::Laboratory, this)) {
  setObjectName(QStringLiteral("labPage"));
  setFocusPolicy(Qt::StrongFocus);
  auto* column = makeColumn(this);
  column->addWidget(bar_);
  auto* body = makeRow(nullptr);
  body->addWidget(makeSide());
  body->addWidget(makeFigures(), 1);
  column->addLayout(body, 1);
  soon_.setSingleShot(true);
  soon_.setInterval(kSoonMs);
  connect(&soon_, &QTimer::timeout, this, &LabPage::showRows);
  connect(bar_, &LearnBar::closed, this, &LabPage::closed);
  connect(bar_, &LearnBar::pageWanted, this, &LabPage::pageWanted);
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

QWidget* LabPage::makeSide() {
  auto* side = describe(new QFrame(this), "lessonColumn");
  setTextWidth(side, kFormWidth);
  auto* column = makeColumn(side);
  auto* area = new QScrollArea(side);
  area->setFrameShape(QFrame::NoFrame);
  area->setWidgetResizable(true);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  area->setWidget(makeControls(area));
  column->addWidget(area, 1);
  column->addWidget(makeFoot(side));
  return side;
}

QWidget* LabPage::makeControls(QWidget* side) {
  auto* inside = new QWidget(side);
  auto* column = makeColumn(inside, 8, {8, 14, 12, 14});
  makeExperiments(inside);
  column->addWidget(makeLine(Qt::Horizontal, inside));
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

void LabPage::makeExperiments(QWidget* inside) {
  auto* column = makeColumn(nullptr, 2);
  auto* title = makeLabel(tr("Experiments"), "section", inside);
  title->setContentsMargins(10, 0, 0, 4);
  column->addWidget(title);
  experiments_ = new QButtonGroup(this);
  int index = 0;
  for (const std::string_view experiment : lab::experiments()) {
    auto* button = makeExperiment(experimentWord(experiment), inside);
    button->setObjectName(QStringLiteral("lab_") + text(std::string(experiment)));
    experiments_->addButton(button, index++);
    column->addWidget(button);
    drafts_.emplace(experiment, lab::usualSettings(experiment));
  }
  experiments_->button(0)->setChecked(true);
  inside->layout()->addItem(column);
  connect(experiments_, &QButtonGroup::idClicked, this, &LabPage::chooseExperiment);
}

QWidget* LabPage::makeFoot(QWidget* side) {
  auto* foot = new QFrame(side);
  foot->setObjectName(QStringLiteral("lessonsFoot"));
  auto* column = makeColumn(foot, 6, {18, 10, 18, 10});
  problem_ = describe(makeWords("error", foot), "labProblem");
  column->addWidget(problem_);
  auto* row = makeRow(nullptr, 8);
  start_ =
      describe(new PushButton(tr("Start"), PushButton::Look::Filled, foot), "labStart", tr("Train these networks."));
  open_ = describe(new PushButton(tr("Open…"), PushButton::Look::Outlined, foot), "labOpen",
                   tr("Settings of a run from a file: what “normlens lab” reads."));
  save_ = describe(new PushButton(tr("Save…"), PushButton::Look::Outlined, foot), "labSave",
                   tr("These settings as a file: “normlens lab” trains the same run without a window."));
  for (PushButton* button : {start_, open_, save_}) row->addWidget(button);
  row->addStretch();
  column->addLayout(row);
  connect(start_, &PushButton::clicked, this, &LabPage::start);
  connect(open_, &PushButton::clicked, this, &LabPage::openSettings);
  connect(save_, &PushButton::clicked, this, [this] { saveSettings(form_->settings()); });
  return foot;
}

QWidget* LabPage::makeFigures() {
  auto* right = new QWidget(this);
  auto* column = makeColumn(right);
  runBar_ = new RunBar(runs_, right);
  column->addWidget(runBar_);
  auto* area = new QScrollArea(right);
  area->setFrameShape(QFrame::NoFrame);
  area->setWidgetResizable(true);
  auto* ground = describe(new QWidget(area), "figureGround");
  auto* inside = makeColumn(ground, kPageGap, {kPageGap, kPageGap, kPageGap, kPageGap});
  empty_ = describe(makeNotice(ground), "labEmpty");
  empty_->setText(
      tr("Nothing is trained yet. Start trains the networks that are ticked at the left, from the same first weights "
         "on the same examples, and draws what happens."));
  figures_ = describe(new LabFigures(ground), "labFigures");
  inside->addWidget(empty_, 1);
  inside->addWidget(figures_, 1);
  makeTable(ground);
  inside->addWidget(view_);
  area->setWidget(ground);
  column->addWidget(area, 1);
  connect(runBar_, &RunBar::pictureWanted, this, &LabPage::savePicture);
  connect(runBar_, &RunBar::tableWanted, this, &LabPage::saveTable);
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
  add(tr("Go on with the run"), !runs_->busy() && !run->isDone(), [this, run = row.run] { runs_->resume(run); });
  if (run->settings.device != "cpu") {
    add(tr("Go on with the run on the CPU"), !runs_->busy() && !run->isDone(),
        [this, run = row.run] { runs_->resume(run, "cpu"); });
  }
  add(tr("Use its settings"), !runs_->busy(), [this, settings = run->settings] { useSettings(settings); });
}

void LabPage::chooseExperiment(int index) {
  useSettings(drafts_.at(std::string(lab::experiments()[static_cast<size_t>(index)])));
  showFigures();  // whose title is the experiment's while nothing is trained
}

void LabPage::useSettings(const lab::RunSettings& settings) {
  const auto at = std::ranges::find(lab::experiments(), settings.experiment);
  experiments_->button(static_cast<int>(at - lab::experiments().begin()))->setChecked(true);
  form_->setSettings(settings);
  followForm();
}

void LabPage::followForm() {
  drafts_[form_->settings().experiment] = form_->settings();
  const QString problem = form_->problem();
  tell(problem);
  start_->setEnabled(problem.isEmpty() && !runs_->busy() && !runs_->isReading());
  save_->setEnabled(problem.isEmpty());
}

void LabPage::tell(const QString& problem) {
  problem_->setText(problem);
  problem_->setVisible(!problem.isEmpty());
}

void LabPage::start() {
  runs_->start(form_->settings());
  view_->setCurrentIndex(table_->index(0, 0));
  view_->setFocus();
}

void LabPage::refresh() {
  bar_->setModelName(session_->title());
  form_->setEnabled(!runs_->busy());
  for (QAbstractButton* button : experiments_->buttons()) button->setEnabled(!runs_->busy());
  locked_->setVisible(runs_->busy());
  open_->setEnabled(!runs_->busy());
  followForm();
  showRows();
}

void LabPage::showRows() {
  QElapsedTimer watch;
  watch.start();
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
  runBar_->show(place ? runs_->run(place->run) : nullptr, form_->settings().experiment);
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
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) showFigures();
}

void LabPage::keyPressEvent(QKeyEvent* event) {
  if (event->key() != Qt::Key_Escape) return QWidget::keyPressEvent(event);
  Q_EMIT closed();  // what is trained goes on
}

}  // namespace normlens::ui
