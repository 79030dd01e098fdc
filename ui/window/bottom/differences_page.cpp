#include "ui/window/bottom/differences_page.h"

#include <QComboBox>
#include <QHeaderView>
#include <QPainter>
#include <QPushButton>
#include <QScrollArea>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>
#include <QWidget>
#include <numeric>

#include "ui/models/difference_table.h"
#include "ui/models/forced_error_table.h"
#include "ui/session/forced_errors.h"
#include "ui/session/session.h"
#include "ui/theme/error_scale.h"
#include "ui/theme/theme.h"
#include "ui/widgets/delegates/figure_delegate.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/plots/difference_plots.h"
#include "ui/widgets/segmented.h"
#include "ui/window/bottom/difference_bar.h"
#include "ui/window/bottom/tensor_pair_view.h"
#include "ui/window/parts.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

constexpr int kScale = 150, kLeastScale = 40, kBar = 8, kSwatch = 14, kGap = 6, kApart = 18, kHeight = 18;

struct Words {
  QString floor = QObject::tr("within 6 × rounding noise"), line = QObject::tr("6 × rounding noise");
  QString least = QStringLiteral("≤ 1e-16"), most = QStringLiteral("1");
};

int widthOf(const QString& words) { return QFontMetrics(uiFont(11)).horizontalAdvance(words); }

// Returns the width of the part that explains the noise floor; endsWidth(), of the words at the ends of the scale.
int floorWidth(const Words& words) {
  return 2 * (kSwatch + kGap) + kApart + widthOf(words.floor) + widthOf(words.line) + 4;
}

int endsWidth(const Words& words) { return kApart + 2 * kGap + widthOf(words.least) + widthOf(words.most); }

// Explains the colors and lines of errors: the calm color and the line of the noise floor, and where there is room the
// logarithmic scale with its ends.
class ErrorLegend final : public QWidget {
 public:
  explicit ErrorLegend(QWidget* parent = nullptr) : QWidget(parent) {
    setObjectName(QStringLiteral("errorLegend"));
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    setAccessibleName(tr("Color scale of the errors"));
    setToolTip(
        tr("The colors show the largest relative difference, from 1e-16 or less to 1 or more, by decades. A calm color "
           "marks errors within six times the original's own rounding error: they lie below the dotted line."));
  }
  [[nodiscard]] QSize sizeHint() const override { return {floorWidth({}) + endsWidth({}) + kScale, grown(kHeight)}; }
  // Without the scale.
  [[nodiscard]] QSize minimumSizeHint() const override { return {floorWidth({}), grown(kHeight)}; }

 protected:
  void paintEvent(QPaintEvent*) override {
    const Theme theme = themeOf(this);
    const Words words;
    QPainter painter(this);
    painter.setFont(uiFont(11));
    const int middle = height() / 2;
    int left = 0;
    const auto say = [&](const QString& text) {
      painter.setPen(theme.textSoft);
      painter.drawText(QRect(left, 0, widthOf(text) + 2, height()), Qt::AlignLeft | Qt::AlignVCenter, text);
      left += widthOf(text);
    };
    painter.fillRect(QRect(left, middle - kSwatch / 2 + 2, kSwatch, kSwatch - 4), floorColor(theme));
    left += kSwatch + kGap;
    say(words.floor);
    left += kApart;
    painter.setPen(QPen(theme.textSoft, 1.2, Qt::DotLine));
    painter.drawLine(left, middle, left + kSwatch, middle);
    left += kSwatch + kGap;
    say(words.line);
    const int wide = width() - floorWidth(words) - endsWidth(words);
    if (wide < kLeastScale) return;
    left += kApart;
    say(words.least);
    left += kGap;
    for (int x = 0; x < wide; ++x) {
      painter.fillRect(QRect(left + x, middle - kBar / 2, 1, kBar),
                       shareColor(static_cast<double>(x) / (wide - 1), theme));
    }
    left += wide + kGap;
    say(words.most);
  }
};

constexpr int kErrorHeight = 23, kNameWidth = 190, kVerdictWidth = 130, kErrorWidth = 84, kLimitWidth = 136;

// All LayerNorms, each folded alone against its verdict: what that does to the model's outputs, norm by type. Measured
// when the user starts it.
class ForcedErrorsPage final : public QWidget {
 public:
  // session: not owned
  ForcedErrorsPage(Session* session, QWidget* parent)
      : QWidget(parent), session_(session), errors_(session->forcedErrors()), rows_(new ForcedErrorTable(this)) {
    bar_ = new QWidget(this);
    auto* row = makeRow(bar_, 12, {16, 5, 12, 5});
    words_ = describe(new ElidedLabel({}, Qt::ElideRight, bar_), "forcedState");
    row->addWidget(words_, 1);
    go_ = addButton(row, "secondary", {}, "forcedGo", {});
    table_ = makeTable("forcedErrorTable", tr("Errors if folded anyway"), kErrorHeight, rows_, this);
    table_->setItemDelegate(new FigureDelegate(ForcedErrorTable::Name, table_, ForcedErrorTable::ToneRole));
    table_->horizontalHeader()->setDefaultSectionSize(kErrorWidth);
    setColumnWidths(table_, {{ForcedErrorTable::Name, kNameWidth}, {ForcedErrorTable::Verdict, kVerdictWidth}});
    followText(table_, [this] {
      const int types = static_cast<int>(ForcedErrors::types().size());
      for (int type = 0; type < types; ++type)
        table_->horizontalHeader()->resizeSection(ForcedErrorTable::FirstType + 2 * type + 1, grown(kLimitWidth));
    });
    table_->horizontalHeader()->setStretchLastSection(true);
    makeColumn(this)->addWidget(table_);
    connect(go_, &QPushButton::clicked, this, &ForcedErrorsPage::go);
    connect(errors_, &ForcedErrors::changed, this, &ForcedErrorsPage::showFigures);
    for (const auto signal : {&Session::analysisChanged, &Session::modelChanged, &Session::jobChanged})
      connect(session_, signal, this, &ForcedErrorsPage::showFigures);
    connect(session_->selection(), &GraphSelection::changed, this, &ForcedErrorsPage::followSelection);
    connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& at) {
      if (following_ || !at.isValid()) return;
      following_ = true;
      session_->selection()->selectNorm(at.data(ForcedErrorTable::NormRole).toInt());
      following_ = false;
    });
    showFigures();
  }

  // Returns the bar with what is measured and the button; not in the page's own layout: whoever shows the page has a
  // place for it.
  [[nodiscard]] QWidget* bar() const { return bar_; }

 private:
  // Measures, or stops.
  void go() {
    if (errors_->running()) return errors_->stop();
    std::vector<int> all(session_->analysis()->norms.size());
    std::iota(all.begin(), all.end(), 0);
    errors_->start(all);
  }
  void showFigures() {
    following_ = true;
    rows_->show(*session_);
    following_ = false;
    const bool running = errors_->running();
    const QString obstacle = errors_->obstacle();
    bool all = rows_->rowCount() > 0;
    for (const ForcedErrorRow& row : rows_->rows()) all = all && errors_->has(row.norm);
    go_->setText(running ? tr("Stop") : tr("Measure all"));
    go_->setToolTip(running ? tr("Stop; the results so far are kept.")
                            : tr("Fold one LayerNorm at a time, whatever its verdict, and run the model in four "
                                 "floating-point types."));
    go_->setVisible(running || !all);
    go_->setEnabled(running || (obstacle.isEmpty() && rows_->rowCount() > 0));
    const QString problem = errors_->problem();
    setKind(words_, problem.isEmpty() ? "soft" : "error");
    words_->setFullText(running               ? errors_->stage()
                        : !problem.isEmpty()  ? problem
                        : !obstacle.isEmpty() ? obstacle
                                              : tr("Error at the model's outputs with one LayerNorm folded at a time, "
                                                   "the others unchanged. ✓: within rounding noise."));
  }
  void followSelection() {
    if (following_) return;
    following_ = true;
    showRow(table_, rows_->index(rows_->rowOf(session_->selection()->current().norm), 0));
    following_ = false;
  }

  Session* session_;      // Not owned.
  ForcedErrors* errors_;  // Not owned: of the session.
  ForcedErrorTable* rows_;
  QWidget* bar_;
  QTableView* table_;
  ElidedLabel* words_;
  QPushButton* go_;
  bool following_ = false;  // the table follows the selection, it does not make one
};

constexpr int kPlaceHeight = 23, kFigureWidth = 84, kPlaceWidth = 130;

bool isAt(const protocol::DiffRow& row, const DifferencePlace& place) {
  return row.kind == place.kind && row.value == place.value && row.output == place.output;
}

}  // namespace

DifferencesPage::DifferencesPage(Session* session, QWidget* parent)
    : QWidget(parent),
      session_(session),
      run_(session->differences()),
      rows_(new DifferenceTable(this)),
      sorter_(new RecordSorter(this)),
      matrix_(new DifferenceMatrix(this)) {
  sorter_->setSourceModel(rows_);
  auto* layout = makeColumn(this);
  head_ = makeRow(nullptr, 0, {16, 0, 0, 0});
  subject_ = describe(new Segmented({{tr("Two models"), tr("The model and its fold, or another file, place by place.")},
                                     {tr("Folded anyway"),
                                      tr("What folding each LayerNorm despite its verdict changes in the outputs.")}},
                                    this),
                      "differenceSubject", {}, tr("What is compared"));
  subject_->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
  head_->addWidget(subject_);
  bar_ = new DifferenceBar(session_, run_, this);
  head_->addWidget(bar_, 1);
  auto* forced = new ForcedErrorsPage(session, this);
  forcedBar_ = forced->bar();
  head_->addWidget(forcedBar_, 1);
  layout->addLayout(head_);
  layout->addWidget(makeLine(Qt::Horizontal, this));
  stack_ = new QStackedWidget(this);
  empty_ = describe(makeNotice(this), "differencesEmpty");
  stack_->addWidget(empty_);
  auto* split = new QSplitter(Qt::Horizontal, this);
  split->addWidget(makeRows());
  split->addWidget(makeViews());
  split->setSizes({560, 560});
  split->setChildrenCollapsible(false);
  stack_->addWidget(split);
  stack_->addWidget(forced);
  layout->addWidget(stack_, 1);
  connect(subject_, &Segmented::chosen, this, &DifferencesPage::showPage);
  connect(run_, &DifferenceRun::changed, this, &DifferencesPage::showResult);
  connect(bar_, &DifferenceBar::inputsWanted, this, &DifferencesPage::inputsWanted);
  connect(bar_, &DifferenceBar::settingsChanged, this, &DifferencesPage::showResult);
  for (const auto signal : {&Session::analysisChanged, &Session::modelChanged, &Session::foldChanged}) {
    connect(session_, signal, this, &DifferencesPage::showResult);
  }
  connect(session_, &Session::jobChanged, this, [this] { empty_->setText(emptyWords()); });
  connect(session_->selection(), &GraphSelection::changed, this, &DifferencesPage::followSelection);
  showResult();
}

// The choice of the page and its bar take two rows where they do not fit into one.
void DifferencesPage::resizeEvent(QResizeEvent* event) {
  constexpr int kOneRow = 780;
  head_->setDirection(width() < grown(kOneRow) ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
  QWidget::resizeEvent(event);
}

QWidget* DifferencesPage::makeRows() {
  auto* panel = new QWidget(this);
  auto* layout = makeColumn(panel);
  auto* head = makeRow(nullptr, 10, {16, 2, 12, 2});
  type_ = describe(new QComboBox(panel), "differenceType", tr("The precision whose rows the table shows."),
                   tr("Precision of the rows"));
  agreement_ = describe(new ElidedLabel({}, Qt::ElideRight, panel), "differenceAgreement",
                        tr("How often both models agree on the largest entries along the last axis."));
  setKind(agreement_, "soft");
  head->addWidget(type_);
  head->addWidget(agreement_, 1);
  layout->addLayout(head);
  table_ = makeTable("differenceTable", tr("Differences by place"), kPlaceHeight, sorter_, panel);
  table_->setItemDelegate(new FigureDelegate(DifferenceTable::Name, table_, DifferenceTable::FloorRole));
  table_->setSortingEnabled(true);
  table_->sortByColumn(DifferenceTable::Step, Qt::AscendingOrder);
  setColumnWidths(table_, {{DifferenceTable::Step, 56},
                           {DifferenceTable::Name, kPlaceWidth},
                           {DifferenceTable::What, 96},
                           {DifferenceTable::MaxRel, 96},
                           {DifferenceTable::Rounding, 76},
                           {DifferenceTable::MaxAbs, 76},
                           {DifferenceTable::MeanAbs, 76},
                           {DifferenceTable::Cosine, 78},
                           {DifferenceTable::Ulp, 80},
                           {DifferenceTable::Worst, 96},
                           {DifferenceTable::Aligned, 120},
                           {DifferenceTable::Batch, 56}});
  layout->addWidget(table_, 1);
  connect(type_, &QComboBox::activated, this, &DifferencesPage::showType);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &DifferencesPage::rowChosen);
  return panel;
}

QWidget* DifferencesPage::makeViews() {
  auto* panel = new QWidget(this);
  auto* layout = makeColumn(panel, 2, {12, 4, 12, 2});
  auto* views = new QStackedWidget(panel);
  // In a small dock it scrolls: rows of cells are not squeezed.
  auto* scroll = makeScrollArea(views, tr("Charts of the differences"));
  auto* depth = new QWidget(scroll);
  auto* column = makeColumn(depth, 2);
  map_ = new PrecisionMap(matrix_, depth);
  plot_ = new DepthPlot(matrix_, depth);
  column->addWidget(map_);
  auto* legend = makeRow(nullptr);
  legend->addStretch(1);
  legend->addWidget(new ErrorLegend(depth));
  column->addLayout(legend);
  column->addWidget(plot_, 1);
  scroll->setWidget(depth);
  figures_ = makeTable("differenceFigures", tr("Errors by place and precision"), kPlaceHeight, matrix_, views);
  figures_->setItemDelegate(new FigureDelegate(DifferenceMatrix::Name, figures_, DifferenceTable::FloorRole));
  followText(figures_, [this] { figures_->horizontalHeader()->setDefaultSectionSize(grown(kFigureWidth)); });
  pair_ = new TensorPairView(run_, views);
  for (QWidget* each : std::initializer_list<QWidget*>{scroll, figures_, pair_}) views->addWidget(each);
  layout->addWidget(views, 1);
  connect(bar_->view(), &Segmented::chosen, views, &QStackedWidget::setCurrentIndex);
  connect(map_, &PrecisionMap::chosen, this, &DifferencesPage::choose);
  connect(plot_, &DepthPlot::chosen, this, &DifferencesPage::choose);
  connect(figures_, &QTableView::clicked, this,
          [this](const QModelIndex& index) { choose(index.row(), index.column() - DifferenceMatrix::FirstType); });
  return panel;
}

QString DifferencesPage::emptyWords() const {
  if (run_->running()) return tr("Running both models on the same inputs.");
  if (!run_->problem().isEmpty()) return run_->problem();
  const QString obstacle = run_->obstacle(bar_->settings());
  return obstacle.isEmpty() ? tr("Not compared yet. Press Compare to run both models and show where they diverge.")
                            : obstacle;
}

void DifferencesPage::showResult() {
  const std::string before = type_->currentText().toStdString();
  matrix_->setColumns(run_->columns());
  figures_->horizontalHeader()->resizeSection(DifferenceMatrix::Name, grown(kPlaceWidth));
  type_->clear();
  for (const protocol::DiffResult& column : run_->columns()) {
    if (column.error.empty()) type_->addItem(text(column.dtype));
  }
  const int again = type_->findText(text(before));
  if (again >= 0) type_->setCurrentIndex(again);
  empty_->setText(emptyWords());
  showPage();
  showType();
}

void DifferencesPage::showPage() {
  const bool forced = subject_->current() == 1;
  bar_->setVisible(!forced);
  forcedBar_->setVisible(forced);
  stack_->setCurrentIndex(forced ? 2 : run_->columns().empty() ? 0 : 1);
}

int DifferencesPage::shownType() const {
  const auto& columns = run_->columns();
  const std::string name = type_->currentText().toStdString();
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].error.empty() && columns[i].dtype == name) return static_cast<int>(i);
  }
  return -1;
}

void DifferencesPage::showType() {
  const int type = shownType();
  following_ = true;
  rows_->setRows(type < 0 ? std::vector<protocol::DiffRow>() : run_->columns()[static_cast<size_t>(type)].rows);
  following_ = false;
  QStringList parts;
  if (type >= 0) {
    const protocol::DiffResult& column = run_->columns()[static_cast<size_t>(type)];
    for (const protocol::DiffRow& row : column.rows) {
      if (!row.top1) continue;
      parts << tr("%1: top-1 agrees in %2%").arg(text(row.name), formatNumber(100 * *row.top1, 4));
      if (row.top5) parts << tr("top-5 in %1%").arg(formatNumber(100 * *row.top5, 4));
    }
    if (!column.first_diverging.empty())
      parts << tr("first to differ: %1").arg(session_->titleOfNorm(column.first_diverging));
    if (!column.norms_reason.empty()) parts << asSentence(text(column.norms_reason));
    if (!column.note.empty()) parts << asSentence(text(column.note));
  }
  agreement_->setFullText(parts.join(QStringLiteral(" · ")));
  followSelection();
  if (!table_->currentIndex().isValid()) showTensors();
}

void DifferencesPage::choose(int place, int type) {
  if (place < 0) return;
  if (type >= 0) {
    if (const int item = type_->findText(matrix_->typeName(type)); item >= 0 && item != type_->currentIndex()) {
      type_->setCurrentIndex(item);
      showType();
    }
  }
  const DifferencePlace& wanted = matrix_->row(place);
  for (int row = 0; row < rows_->rowCount(); ++row) {
    if (isAt(rows_->row(row), wanted)) showRow(table_, sorter_->mapFromSource(rows_->index(row, 0)));
  }
}

void DifferencesPage::rowChosen(const QModelIndex& index) {
  const QModelIndex source = sorter_->mapToSource(index);
  if (!following_ && source.isValid()) {
    const protocol::DiffRow& row = rows_->row(source.row());
    following_ = true;
    if (row.norm >= 0) {
      session_->selection()->selectNorm(row.norm);
    } else if (row.value >= 0) {
      session_->selection()->selectValue(row.value);
    }
    following_ = false;
  }
  showTensors();
}

void DifferencesPage::followSelection() {
  if (following_) return;
  const int row = rows_->rowOfNorm(session_->selection()->current().norm);
  following_ = true;
  if (row >= 0) showRow(table_, sorter_->mapFromSource(rows_->index(row, 0)));
  following_ = false;
  showTensors();
}

void DifferencesPage::showTensors() {
  const QModelIndex source = sorter_->mapToSource(table_->currentIndex());
  const int type = shownType();
  if (!source.isValid() || type < 0) {
    map_->setChosen(-1, -1);
    plot_->setChosen(-1);
    pair_->setRow({}, {});
    return;
  }
  const protocol::DiffRow& row = rows_->row(source.row());
  int place = row.norm >= 0 ? matrix_->placeOfNorm(row.norm) : -1;
  for (int i = 0; place < 0 && i < matrix_->places(); ++i) {
    if (isAt(row, matrix_->row(i))) place = i;
  }
  map_->setChosen(place, type);
  plot_->setChosen(place);
  pair_->setRow(row, run_->columns()[static_cast<size_t>(type)].dtype);
}

void DifferencesPage::compareValue(int value) {
  subject_->setCurrent(0);
  showPage();
  run_->addValue(value);
  run_->start(run_->columns().empty() && !run_->running() ? bar_->settings() : run_->settings());
}

}  // namespace normlens::ui
