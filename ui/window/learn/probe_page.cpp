#include "ui/window/learn/probe_page.h"

#include <QCheckBox>
#include <QFileInfo>
#include <QHeaderView>
#include <QPainter>
#include <QScrollArea>
#include <QSpinBox>
#include <QTableView>

#include "ui/models/probe_table.h"
#include "ui/session/probe_run.h"
#include "ui/session/session.h"
#include "ui/widgets/delegates/figure_delegate.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/push_button.h"
#include "ui/widgets/segmented.h"
#include "ui/window/learn/learn_bar.h"
#include "ui/window/learn/probe_charts.h"
#include "ui/window/parts.h"

namespace normlens::ui {
namespace {

constexpr int kSide = 280, kRow = 28, kTable = 200;
constexpr int kVectorColumns = 8, kColumn = 80;
constexpr int kMostSeed = 999'999;

template <class T>
const T* pointer(const std::optional<T>& result) {
  return result ? &*result : nullptr;
}

void addSentences(const std::vector<std::string>& findings, QStringList& sentences) {
  for (const std::string& finding : findings) sentences << asSentence(text(finding));
}

}  // namespace

ProbePage::ProbePage(Session* session, QWidget* parent)
    : FiguresPage(LearnPageKind::Probe, session, parent),
      probe_(session->probe()),
      swaps_(session->swaps()),
      table_(new ProbeTable(this)) {
  setObjectName(QStringLiteral("probePage"));
  QWidget* side = makeSide(
      kSide, [this](QWidget* area) { return makeControls(area); }, [this](QWidget* at) { return makeFoot(at); });
  fill(side, makeFigures());
  connect(probe_, &ProbeRun::changed, this, &ProbePage::showFigures);
  connect(swaps_, &SwapRun::changed, this, &ProbePage::showFigures);
  connect(swaps_, &SwapRun::progressed, this, &ProbePage::showProgress);
  for (const auto signal : {&Session::foldChanged, &Session::jobChanged, &Session::modelChanged}) {
    connect(session_, signal, this, &ProbePage::refresh);
  }
  showFigures();
}

QWidget* ProbePage::makeControls(QWidget* side) {
  auto* inside = new QWidget(side);
  auto* words = makeColumn(inside, 8, {20, 18, 20, 16});
  words->addWidget(makeLabel(tr("Geometry probe"), "title", inside));
  words->addWidget(makeWords(
      "soft", inside, tr("How much of each norm's input lies along the uniform vector, and does removing it matter?")));
  words->addSpacing(8);
  words->addWidget(makeLabel(tr("Inputs"), "soft", inside));
  inputs_ = describe(makeWords("fact", inside), "probeInputs");
  words->addWidget(inputs_);
  words->addSpacing(8);
  words->addWidget(makeLabel(tr("Model"), "soft", inside));
  model_ = describe(new Segmented({{tr("As opened"), tr("The open model.")},
                                   {tr("Folded"), tr("The result of the last fold.")},
                                   {tr("Both"), tr("The open model next to its fold.")}},
                                  inside),
                    "probeModel", {}, tr("Model"));
  model_->setSnug(true);
  words->addWidget(model_);
  words->addSpacing(8);
  words->addWidget(makeLabel(tr("Control"), "soft", inside));
  control_ = describe(
      new QCheckBox(tr("random vectors"), inside), "probeControl",
      tr("The angles of the same inputs to two random vectors, which are the same for all norms of one width."));
  control_->setChecked(true);
  words->addWidget(control_);
  auto* line = makeRow(nullptr, 8);
  line->addWidget(makeLabel(tr("Seed"), "soft", inside));
  seed_ = describe(new QSpinBox(inside), "probeSeed", tr("Seed of the random vectors."), tr("Seed"));
  seed_->setRange(0, kMostSeed);
  seed_->setButtonSymbols(QAbstractSpinBox::NoButtons);
  seed_->setValue(static_cast<int>(protocol::ProbeParams().seed));
  line->addStretch();
  line->addWidget(seed_);
  words->addLayout(line);
  words->addSpacing(12);
  words->addWidget(makeLine(Qt::Horizontal, inside));
  words->addWidget(makeLabel(tr("Findings"), "section", inside));
  says_ = describe(makeWords("fact", inside), "probeSays");
  words->addWidget(says_);
  words->addStretch();
  connect(model_, &Segmented::chosen, this, &ProbePage::run);
  connect(control_, &QCheckBox::toggled, this, &ProbePage::showFigures);
  return inside;
}

QWidget* ProbePage::makeFoot(QWidget* side) {
  QFrame* foot = makeBar(QStringLiteral("lessonsFoot"), 56, side);
  layoutOf(foot)->setContentsMargins(20, 0, 20, 0);
  run_ = describe(new PushButton(tr("Run again"), PushButton::Look::Filled, foot), "probeRun");
  csv_ = describe(new PushButton(tr("CSV"), PushButton::Look::Outlined, foot), "probeCsv", tr("Save the table."));
  picture_ = describe(new PushButton(tr("PNG"), PushButton::Look::Outlined, foot), "probePicture",
                      tr("Save the charts as PNG, SVG or PDF."));
  for (PushButton* button : {run_, csv_, picture_}) layoutOf(foot)->addWidget(button);
  layoutOf(foot)->addStretch();
  connect(run_, &PushButton::clicked, this, [this] { probe_->running() ? stop() : run(); });
  const auto usualName = [this] { return QFileInfo(session_->path()).completeBaseName() + QStringLiteral(".probe"); };
  connect(csv_, &PushButton::clicked, this,
          [this, usualName] { saveTable("probeDialog", tr("Save the probe"), usualName(), table_); });
  connect(picture_, &PushButton::clicked, this, [this, usualName] {
    savePicture("probePictureDialog", usualName(), charts_, [this](QPainter& at) { charts_->paintPicture(at); });
  });
  return foot;
}

QWidget* ProbePage::makeFigures() {
  auto* area = makeScrollArea(this, tr("Charts of the probe"));
  auto* ground = describe(new QWidget(area), "figureGround");
  auto* column = makeColumn(ground, 16, {16, 16, 16, 16});
  charts_ = describe(new ProbeCharts(ground), "probeCharts");
  view_ = makeTable("probeTable", tr("Norms of the probe"), kRow, table_, this);
  view_->setItemDelegate(new FigureDelegate(0, view_));
  view_->horizontalHeader()->setStretchLastSection(true);
  view_->setMinimumHeight(grown(kTable));
  setColumnWidths(view_, {{0, 130}, {1, 80}, {2, 100}, {3, 100}, {4, 100}, {5, 90}, {6, 100}, {7, 110}});
  column->addWidget(charts_, 1);
  column->addWidget(view_);
  area->setWidget(ground);
  connect(charts_, &ProbeCharts::chosen, this, &ProbePage::choose);
  connect(charts_, &ProbeCharts::measureWanted, swaps_, &SwapRun::start);
  connect(charts_, &ProbeCharts::measureUnwanted, this, &ProbePage::stop);
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& at) { choose(at.row()); });
  connect(view_, &QTableView::activated, this, &ProbePage::showOnGraph);
  return area;
}

void ProbePage::run() { probe_->start(static_cast<ProbedModel>(model_->current()), seed_->value()); }

void ProbePage::stop() {
  probe_->stop();
  swaps_->stop();
}

void ProbePage::refresh() {
  bar_->setModelName(session_->title());
  const bool folded = session_->foldResult().has_value();
  if (!folded) model_->setCurrent(0);
  model_->setEnabled(folded);
  inputs_->setText(inputsWords());
  const bool some = table_->rowCount() > 0, running = probe_->running();
  run_->setText(running ? tr("Stop") : some ? tr("Run again") : tr("Run"));
  run_->setEnabled(running || probe_->obstacle().isEmpty());
  charts_->allowMeasuring(probe_->obstacle().isEmpty());
  csv_->setEnabled(some);
  picture_->setEnabled(some);
  says_->setText(findings());
}

QString ProbePage::inputsWords() const {
  if (!session_->analysis()) return {};
  QStringList words;
  for (const protocol::InputSpec& spec : session_->analysis()->inputs) {
    words << text(spec.name) + u' ' + formatShape(spec.shape) + u' ' + text(spec.dtype);
  }
  return words.join(u'\n');
}

QString ProbePage::findings() const {
  if (probe_->running()) return tr("The engine is running the model and reading each norm.");
  for (const EngineRun* each : std::initializer_list<EngineRun*>{probe_, swaps_}) {
    if (!each->problem().isEmpty()) return each->problem();
  }
  QStringList sentences;
  const auto view = static_cast<ProbedModel>(model_->current());
  if (view != ProbedModel::Folded && probe_->opened()) {
    addSentences(probe_->opened()->findings, sentences);
    if (swaps_->figures()) addSentences(swaps_->figures()->findings, sentences);
  }
  if (view != ProbedModel::Opened && probe_->folded()) {
    if (view == ProbedModel::Both) sentences << tr("Of the fold:");
    addSentences(probe_->folded()->findings, sentences);
  }
  return sentences.isEmpty() ? probe_->obstacle() : sentences.join(QStringLiteral("\n\n"));
}

void ProbePage::showFigures() {
  const auto model = static_cast<ProbedModel>(model_->current());
  const bool isFold = model == ProbedModel::Folded;
  const protocol::ProbeSwaps* swaps = isFold ? nullptr : pointer(swaps_->figures());
  const int row = view_->currentIndex().row();
  table_->show(pointer(isFold ? probe_->folded() : probe_->opened()),
               model == ProbedModel::Both ? pointer(probe_->folded()) : nullptr, swaps);
  // Columns that come and go beside those of the vectors are at least as wide as their heads.
  auto* header = view_->horizontalHeader();
  for (int column = kVectorColumns; column < table_->columnCount(); ++column)
    header->resizeSection(column, std::max(grown(kColumn), header->sectionSizeHint(column)));
  charts_->show(table_->rows(), {control_->isChecked(), isFold, swaps, swaps_->running()});
  if (row >= 0 && row < table_->rowCount()) choose(row);
  refresh();
}

void ProbePage::showProgress() {
  charts_->showProgress(tr("%1, %2%").arg(swaps_->stage()).arg(qRound(swaps_->fraction() * 100)));
}

void ProbePage::choose(int row) {
  charts_->setChosen(row);
  if (row >= 0 && row != view_->currentIndex().row()) showRow(view_, table_->index(row, 0));
}

void ProbePage::showOnGraph() {
  const int row = view_->currentIndex().row();
  if (row < 0 || table_->row(row).row.norm < 0) return;
  session_->selection()->selectNorm(table_->row(row).row.norm);
  Q_EMIT closed();
}

void ProbePage::showProblem(const QString& problem) { says_->setText(problem); }

void ProbePage::leave() {
  if (probe_->running() || swaps_->running()) return stop();
  Q_EMIT closed();
}

void ProbePage::showEvent(QShowEvent* event) {
  FiguresPage::showEvent(event);
  if (!probe_->opened() && !probe_->running()) run();
}

}  // namespace normlens::ui
