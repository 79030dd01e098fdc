#include "ui/window/bottom/bench_page.h"

#include <QAbstractButton>
#include <QActionGroup>
#include <QButtonGroup>
#include <QClipboard>
#include <QComboBox>
#include <QEvent>
#include <QFileInfo>
#include <QGuiApplication>
#include <QHeaderView>
#include <QMenu>
#include <QPainter>
#include <QPushButton>
#include <QScrollArea>
#include <QStackedWidget>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QToolButton>
#include <algorithm>
#include <functional>

#include "ui/charts/chart_view.h"
#include "ui/models/bench_export.h"
#include "ui/models/bench_figures.h"
#include "ui/models/bench_table.h"
#include "ui/models/table_text.h"
#include "ui/session/session.h"
#include "ui/theme/theme.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/plots/picture_file.h"
#include "ui/widgets/room_steps.h"
#include "ui/window/bottom/bench_bar.h"
#include "ui/window/parts.h"
#include "ui/words/bench_text.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

constexpr int kFirstMargin = 16, kMargin = 8, kRightMargin = 15;  // as in the header, with room for its arrow

QFont fontOf(int column) { return column == 0 ? uiFont(12) : monoFont(12); }
int leftMargin(int column) { return column == 0 ? kFirstMargin : kMargin; }

// Cells of a table of figures: words in the first column, monospaced numbers at the right in the others.
class NumberDelegate final : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const Theme theme = themeOf(option.palette);
    const QString words = index.data().toString();
    painter->save();
    if (option.state & QStyle::State_Selected) painter->fillRect(option.rect, theme.selection);
    const QRect area = option.rect.adjusted(leftMargin(index.column()), 0, -kRightMargin, 0);
    const QFont font = fontOf(index.column());
    painter->setFont(font);
    painter->setPen(index.column() == 0 ? theme.textSoft : theme.text);
    // A figure of both models stands in the middle, under neither heading.
    const auto* table = qobject_cast<const QTableView*>(option.widget);
    const bool spans = table != nullptr && table->columnSpan(index.row(), index.column()) > 1;
    const int side = index.column() == 0 ? Qt::AlignLeft : spans ? Qt::AlignHCenter : Qt::AlignRight;
    painter->drawText(area, int{Qt::AlignVCenter} | side,
                      QFontMetrics(font).elidedText(words, Qt::ElideRight, area.width()));
    painter->restore();
  }
  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const int width = QFontMetrics(fontOf(index.column())).horizontalAdvance(index.data().toString());
    return {width + leftMargin(index.column()) + kRightMargin + 2,
            QStyledItemDelegate::sizeHint(option, index).height()};
  }
};

constexpr int kTable = 5;  // after the charts, which are numbered as BenchChart
constexpr int kRowHeight = 20, kKindsWidth = 122, kKindHeight = 25;

// -1: none.
int chosenIn(const QActionGroup& group) {
  const QAction* chosen = group.checkedAction();
  return chosen != nullptr ? chosen->data().toInt() : -1;
}

QAction* addChoice(QMenu* menu, QActionGroup* group, const QString& words, int data) {
  QAction* action = menu->addAction(words);
  action->setCheckable(true);
  action->setData(data);
  group->addAction(action);
  return action;
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
  beside_ = addButton(bar_->row(), "secondary", tr("Compare with…"), "benchBeside",
                      tr("Compare with an earlier measurement or with a paper's figures."));
  export_ = addButton(bar_->row(), "secondary", tr("Export"), "benchExport",
                      tr("Export the chart as a picture or the figures as text."));
  buildBesideMenu();
  buildExportMenu();
  auto* more = describe(new IconButton(QStringLiteral("more"), {}, tr("Comparison and export."), bar_), "benchMore");
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
  bar_->giveWay();
}

QWidget* BenchPage::buildKinds() {
  auto* area = makeScrollArea(this, tr("Charts"), Qt::ScrollBarAlwaysOff);
  auto* column = new QWidget(area);
  auto* layout = makeColumn(column, 0, {8, 6, 8, 6});
  kinds_ = new QButtonGroup(this);
  const struct {
    const char* name;
    QString title, tip;
  } kinds[] = {{"benchLatency", tr("Latency"), tr("Medians over the rounds.")},
               {"benchDistribution", tr("Distribution"), tr("Histogram of the times of all runs.")},
               {"benchSpeedup", tr("Speed-up"), tr("Speed-up over the varied setting, with 95% intervals.")},
               {"benchOps", tr("Operators"), tr("Time in norms and in everything else.")},
               {"benchBreakEven", tr("Break-even"), tr("Number of runs after which the fold pays off.")},
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
                    tr("Wheel or drag a frame: zoom. Double-click: show all. Click the legend: hide."),
                    tr("Chart of the measurement"));
  table_ = makeTable("benchTable", tr("Points of the measurement"), 24, points_, middle_);
  table_->setItemDelegate(new NumberDelegate(table_));
  empty_ = describe(makeNotice(middle_), "benchEmpty");
  for (QWidget* page : std::initializer_list<QWidget*>{chart_, table_, empty_}) middle_->addWidget(page);
  return middle_;
}

QWidget* BenchPage::buildFigures() {
  auto* area = makeScrollArea(this, tr("Figures of the point"),
                              Qt::ScrollBarAlwaysOff);  // in a low dock the note alone is higher
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
  if (session_->job().kind == JobKind::Measuring) return tr("Measuring both models in alternating rounds.");
  if (const QString why = session_->runObstacle(); !why.isEmpty()) return why;
  if (session_->canMeasure() || session_->busy()) return tr("Not measured yet. Press Measure to time both models.");
  return tr("Fold first, or select models that need no fold.");
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
  if (!point.complete && !measuring) notes << tr("Stopped; the results so far are kept.");
  if (isMixed(point))
    notes << tr("Two runtimes are compared: %1 and %2.").arg(text(point.a.runtime), text(point.b->runtime));
  if (!notes.isEmpty()) return notes.join(u' ');
  const QString device = point.device == "cpu" ? tr("CPU") : point.cuda_graph ? tr("CUDA graph") : tr("CUDA");
  QString setting = tr("%1 · %2 · %3 threads").arg(device, text(point.dtype)).arg(point.threads);
  if (point.b && point.speedup > 0) {
    const double off = std::max(point.ci_high - point.speedup, point.speedup - point.ci_low) / point.speedup;
    setting += tr(" · speed-up known to ±%1 after %2 rounds").arg(formatPercent(off)).arg(point.rounds.size());
  }
  return losesToSeveralOps(point)
             ? tr("%1. On a CPU, torch's own rms_norm runs several operators: try “folded, fast”.").arg(setting)
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
  figuresTable_->clearSpans();
  for (int row = 0; row < figures_->rowCount(); ++row) {
    if (figures_->row(row).ofBoth) figuresTable_->setSpan(row, BenchFigures::A, 1, 2);
  }
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

// ---- what is laid beside a measurement, and what is taken out of it

void BenchPage::buildBesideMenu() {
  auto* menu = new QMenu(beside_);
  menu->setToolTipsVisible(true);
  earlierMenu_ = menu->addMenu(tr("Earlier measurement"));
  earlierGroup_ = new QActionGroup(this);
  paperMenu_ = menu->addMenu(tr("Figures from the papers"));
  paperMenu_->setToolTipsVisible(true);
  paperGroup_ = new QActionGroup(this);
  addChoice(paperMenu_, paperGroup_, tr("None"), -1)->setChecked(true);
  for (int i = 0; i < figuresOfPapers_.series.size(); ++i) {
    const PaperSeries& series = figuresOfPapers_.series[i];
    QAction* action = addChoice(paperMenu_, paperGroup_, series.label, i);
    action->setToolTip(tr("Speed-up over %1, from the %2.").arg(series.over, series.source));
  }
  connect(paperGroup_, &QActionGroup::triggered, this, &BenchPage::showResult);
  connect(earlierGroup_, &QActionGroup::triggered, this, &BenchPage::showResult);
  beside_->setMenu(menu);
}

void BenchPage::showBeside() {
  const bool overlaid = earlier() != nullptr;
  earlierMenu_->clear();
  const auto& runs = session_->measurements()->earlier();
  addChoice(earlierMenu_, earlierGroup_, tr("None"), -1)->setChecked(true);
  for (size_t i = 0; i < runs.size(); ++i) {
    QAction* action = addChoice(earlierMenu_, earlierGroup_, runName(runs[i]), static_cast<int>(i));
    if (overlaid && i == 0) action->setChecked(true);  // a new measurement is laid over the one before
  }
  earlierMenu_->setEnabled(!runs.empty());
}

void BenchPage::buildExportMenu() {
  auto* menu = new QMenu(export_);
  const auto add = [&](const QString& words, const char* name, const std::function<void()>& run) {
    QAction* action = menu->addAction(words);
    action->setObjectName(QLatin1String(name));
    connect(action, &QAction::triggered, this, run);
  };
  add(tr("Chart as a picture…"), "benchSavePicture", [this] {
    askWhere(tr("Save the chart"), "benchPictureDialog", pictureFilters(),
             [this](const QString& path) { return chart_->savePicture(path); });
  });
  add(tr("Figures as CSV…"), "benchSaveCsv", [this] {
    askWhere(tr("Save the figures"), "benchCsvDialog", {tr("Table (*.csv)")}, [this](const QString& path) {
      return result() && writeFile(path, benchCsv(*result(), paper()).toUtf8());
    });
  });
  add(tr("Everything as JSON…"), "benchSaveJson", [this] {
    askWhere(tr("Save the measurement"), "benchJsonDialog", {tr("JSON (*.json)")},
             [this](const QString& path) { return result() && writeFile(path, benchJson(*result())); });
  });
  add(tr("Copy as Markdown"), "benchCopyMarkdown", [this] {
    if (!result()) return;
    const QString table = tableText(*points_, allRows(*points_), TableFormat::Markdown);
    QGuiApplication::clipboard()->setText(table + benchNotes(*result(), paper()));
  });
  add(tr("Copy as LaTeX"), "benchCopyLatex", [this] {
    if (result()) QGuiApplication::clipboard()->setText(tableText(*points_, allRows(*points_), TableFormat::Latex));
  });
  export_->setMenu(menu);
}

void BenchPage::askWhere(const QString& title, const char* name, const QStringList& filters,
                         const std::function<bool(const QString& path)>& write) {
  const FileQuestion question{QLatin1String(name), title, filters, folderOf(session_->path()),
                              QFileInfo(session_->path()).completeBaseName() + QStringLiteral("_bench")};
  askAndWrite(this, question, write, [this](const QString& problem) { Q_EMIT session_->problem(problem, {}); });
}

}  // namespace normlens::ui
