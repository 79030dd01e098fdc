#include "ui/window/bottom/bench_page.h"

#include <QAbstractButton>
#include <QActionGroup>
#include <QButtonGroup>
#include <QComboBox>
#include <QEvent>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QScrollArea>
#include <QStackedWidget>
#include <QTableView>
#include <QToolButton>

#include "ui/charts/chart_view.h"
#include "ui/models/bench_figures.h"
#include "ui/models/bench_table.h"
#include "ui/session/session.h"
#include "ui/session/words/bench_text.h"
#include "ui/session/words/format.h"
#include "ui/widgets/delegates/number_delegate.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/room_steps.h"
#include "ui/window/bottom/bench_bar.h"
#include "ui/window/parts.h"

namespace normlens::ui {

namespace {

constexpr int kTable = 5;  // after the charts, which are numbered as BenchChart
constexpr int kRowHeight = 20, kKindsWidth = 122, kKindHeight = 25;

// -1: none.
int chosenIn(const QActionGroup& group) {
  const QAction* chosen = group.checkedAction();
  return chosen != nullptr ? chosen->data().toInt() : -1;
}

}  // namespace

BenchPage::BenchPage(Session* session, QWidget* parent)
    : QWidget(parent),
      session_(session),
      figuresOfPapers_(paperFigures()),
      points_(new BenchTable(this)),
      figures_(new BenchFigures(this)) {
  auto* layout = makeColumn(this);
  buildBar();
  layout->addWidget(bar_);
  layout->addWidget(makeLine(Qt::Horizontal, this));
  auto* body = makeRow(nullptr);
  body->addWidget(buildKinds());
  body->addWidget(makeLine(Qt::Vertical, this));
  body->addWidget(buildMiddle(), 3);
  body->addWidget(makeLine(Qt::Vertical, this));
  body->addWidget(buildFigures(), 2);
  layout->addLayout(body, 1);
  for (const auto signal : {&Measurements::changed, &Measurements::progressed, &Measurements::paramsChanged}) {
    connect(session_->measurements(), signal, this, &BenchPage::showResult);
  }
  connect(session_, &Session::foldChanged, this, &BenchPage::showResult);
  connect(session_, &Session::modelChanged, this, &BenchPage::showResult);
  connect(session_, &Session::jobChanged, this, &BenchPage::showWords);
  connect(session_->measurements(), &Measurements::changed, this, &BenchPage::showBeside);
  showBeside();
  showResult();
}

void BenchPage::buildBar() {
  bar_ = new BenchBar(session_, this);
  beside_ = addButton(bar_->row(), "secondary", tr("Beside"), "benchBeside",
                      tr("An earlier measurement or a paper's figures beside this one."));
  export_ = addButton(bar_->row(), "secondary", tr("Export"), "benchExport",
                      tr("The chart as a picture, the figures as text."));
  buildBesideMenu();
  buildExportMenu();
  auto* more = describe(new IconButton(QStringLiteral("more"), {}, tr("What can stand beside it, and export."), bar_),
                        "benchMore");
  auto* menu = new QMenu(more);
  for (QPushButton* button : {beside_, export_}) {
    button->menu()->setTitle(button->text());
    menu->addMenu(button->menu());
  }
  more->setMenu(menu);
  more->setPopupMode(QToolButton::InstantPopup);
  more->hide();
  bar_->row()->addWidget(more);
  bar_->room()->add([this, more](bool taken) {
    beside_->setVisible(!taken);
    export_->setVisible(!taken);
    more->setVisible(taken);
  });
  bar_->room()->add([this](bool taken) { bar_->setStacked(taken); });
}

QWidget* BenchPage::buildKinds() {
  auto* area = new QScrollArea(this);
  area->setWidgetResizable(true);
  area->setFrameShape(QFrame::NoFrame);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* column = new QWidget(area);
  auto* layout = makeColumn(column, 0, {8, 6, 8, 6});
  kinds_ = new QButtonGroup(this);
  const struct {
    const char* name;
    QString title, tip;
  } kinds[] = {{"benchLatency", tr("Latency"), tr("Medians over the rounds.")},
               {"benchDistribution", tr("Distribution"), tr("How many runs took how long.")},
               {"benchSpeedup", tr("Speed-up"), tr("Over what is varied, with its intervals.")},
               {"benchOps", tr("Ops"), tr("Time in norms and in everything else.")},
               {"benchBreakEven", tr("Break-even"), tr("After how many runs the fold has paid for itself.")},
               {"benchTableButton", tr("Table"), tr("All points with all figures.")}};
  for (int i = 0; i <= kTable; ++i) {
    auto* button = describe(new QToolButton(column), kinds[i].name, kinds[i].tip);
    button->setText(kinds[i].title);
    button->setProperty("kind", "choice");
    button->setCheckable(true);
    button->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setTextHeight(button, kKindHeight);
    kinds_->addButton(button, i);
    layout->addWidget(button);
  }
  layout->addStretch(1);
  kinds_->button(0)->setChecked(true);
  connect(kinds_, &QButtonGroup::idClicked, this, &BenchPage::showChart);
  area->setWidget(column);
  setTextWidth(area, kKindsWidth);
  return area;
}

QWidget* BenchPage::buildMiddle() {
  middle_ = new QStackedWidget(this);
  chart_ = describe(new ChartView(middle_), "benchChart",
                    tr("Wheel or a drawn frame: zoom. Double click: all. Click the legend: hide."),
                    tr("Chart of the measurement"));
  table_ = makeTable("benchTable", tr("Points of the measurement"), 24, points_, middle_);
  table_->setItemDelegate(new NumberDelegate(table_));
  empty_ = describe(makeNotice(middle_), "benchEmpty");
  for (QWidget* page : std::initializer_list<QWidget*>{chart_, table_, empty_}) middle_->addWidget(page);
  return middle_;
}

QWidget* BenchPage::buildFigures() {
  auto* area = new QScrollArea(this);  // in a low dock the note alone is higher
  area->setWidgetResizable(true);
  area->setFrameShape(QFrame::NoFrame);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  followText(area, [area] { area->setMaximumWidth(grown(430)); });
  auto* column = new QWidget(area);
  auto* layout = makeColumn(column);
  auto* head = makeColumn(nullptr, 0, {16, 2, 12, 0});  // beside the point the words would be one below the other
  const QString shown = tr("The point whose figures are shown.");
  point_ = describe(new QComboBox(column), "benchPoint", shown, shown);
  point_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  note_ = describe(makeWords("soft", column), "benchNote");
  head->addWidget(point_, 0, Qt::AlignLeft);
  head->addWidget(note_);
  layout->addLayout(head);
  figuresTable_ = makeTable("benchFigures", tr("Figures of the point"), kRowHeight, figures_, column);
  figuresTable_->setItemDelegate(new NumberDelegate(figuresTable_));
  QHeaderView* header = figuresTable_->horizontalHeader();
  header->setSectionResizeMode(QHeaderView::Stretch);
  header->setSectionResizeMode(BenchFigures::Figure, QHeaderView::ResizeToContents);
  figuresTable_->setMinimumHeight(2 * kRowHeight);
  layout->addWidget(figuresTable_, 1);
  layout->addStretch();
  area->setWidget(column);
  connect(point_, &QComboBox::activated, this, [this](int index) {
    following_ = index == point_->count() - 1;
    showChart();
  });
  return area;
}

// ---- what is shown

const std::optional<protocol::BenchResult>& BenchPage::result() const {
  return session_->measurements()->live().result() ? session_->measurements()->live().result()
                                                   : session_->measurements()->last();
}

std::optional<PaperSeries> BenchPage::paper() const {
  const int index = chosenIn(*paperGroup_);
  return index < 0 ? std::nullopt : std::optional(figuresOfPapers_.series[index]);
}

const protocol::BenchResult* BenchPage::earlier() const {
  const int index = chosenIn(*earlierGroup_);
  const auto& runs = session_->measurements()->earlier();
  return index < 0 || static_cast<size_t>(index) >= runs.size() ? nullptr : &runs[static_cast<size_t>(index)];
}

QString BenchPage::emptyText() const {
  if (session_->job().kind == JobKind::Measuring) return tr("Measuring: rounds of the two models alternate.");
  if (const QString why = session_->cannotRun(); !why.isEmpty()) return why;
  if (session_->canMeasure() || session_->busy()) return tr("Not measured yet. Measure times both models.");
  return tr("Fold first, or choose models that need no fold.");
}

void BenchPage::showResult() {
  points_->setResult(result(), paper());
  export_->setEnabled(result().has_value());
  showPoints();
  showChart();
}

void BenchPage::showPoints() {
  const int before = point_->currentIndex();
  const QSignalBlocker quiet(point_);
  point_->clear();
  if (result()) {
    for (const protocol::BenchPoint& point : result()->points) point_->addItem(pointName(point));
  }
  const bool live = session_->measurements()->live().result().has_value();
  const int last = point_->count() - 1;
  point_->setCurrentIndex(live && following_ ? last : std::clamp(before, std::min(0, last), last));
  point_->setVisible(point_->count() > 1);
}

QString BenchPage::noteOf(const protocol::BenchPoint& point) const {
  if (!point.error.empty()) return asSentence(text(point.error));
  QStringList notes;
  if (const QString caution = cautionOf(point); !caution.isEmpty()) notes << caution;
  const bool measuring = session_->job().kind == JobKind::Measuring;
  if (!point.complete && !measuring) notes << tr("Stopped; what was measured stays.");
  if (isMixed(point))
    notes << tr("Two runtimes are compared: %1 and %2.").arg(text(point.a.runtime), text(point.b->runtime));
  if (!notes.isEmpty()) return notes.join(u' ');
  const QString device = point.device == "cpu" ? tr("CPU") : point.cuda_graph ? tr("CUDA graph") : tr("CUDA");
  const QString setting = tr("%1 · %2 · %3 threads").arg(device, text(point.dtype)).arg(point.threads);
  return losesToSeveralOps(point)
             ? tr("%1. On a CPU torch's own rms_norm is several ops: try “folded, fast”.").arg(setting)
             : setting;
}

const protocol::BenchPoint* BenchPage::shownPoint() const {
  const int index = point_->currentIndex();
  const bool there = result() && index >= 0 && static_cast<size_t>(index) < result()->points.size();
  return there ? &result()->points[static_cast<size_t>(index)] : nullptr;
}

// Shows the texts that depend on the job as well.
void BenchPage::showWords() {
  const protocol::BenchPoint* point = shownPoint();
  note_->setText(point != nullptr ? noteOf(*point) : QString());
  if (!result()) empty_->setText(emptyText());
}

void BenchPage::showChart() {
  const int kind = kinds_->checkedId();
  const auto& shown = result();
  const int index = point_->currentIndex();
  const protocol::BenchPoint* point = shownPoint();
  figures_->setPoint(point != nullptr ? std::optional(*point) : std::nullopt);
  figuresTable_->setVisible(point == nullptr || point->error.empty());
  showWords();
  if (!shown) {
    middle_->setCurrentWidget(empty_);
    return;
  }
  if (kind == kTable) {
    middle_->setCurrentWidget(table_);
    table_->resizeColumnsToContents();
    return;
  }
  const auto series = paper();
  const BenchPicture picture{*shown, index, earlier(), series ? &*series : nullptr,
                             series ? foldOf(figuresOfPapers_, *series) : nullptr};
  const auto which = static_cast<BenchChart>(kind);
  const QString why = whyEmpty(which, picture);
  if (!why.isEmpty()) {
    empty_->setText(why);
    middle_->setCurrentWidget(empty_);
    return;
  }
  chart_->showChart(makeBenchChart(which, picture, themeOf(this)));
  middle_->setCurrentWidget(chart_);
}

void BenchPage::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && result()) showChart();
}

}  // namespace normlens::ui
