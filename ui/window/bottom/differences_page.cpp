#include "ui/window/bottom/differences_page.h"

#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QScrollArea>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>

#include "ui/models/difference_table.h"
#include "ui/session/session.h"
#include "ui/session/words/format.h"
#include "ui/widgets/delegates/figure_delegate.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/plots/depth_plot.h"
#include "ui/widgets/plots/error_legend.h"
#include "ui/widgets/plots/precision_map.h"
#include "ui/widgets/segmented.h"
#include "ui/window/bottom/difference_bar.h"
#include "ui/window/bottom/forced_errors_page.h"
#include "ui/window/bottom/tensor_pair_view.h"
#include "ui/window/parts.h"

namespace normlens::ui {

namespace {

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
                                     {tr("Folded anyway"), tr("What folding each LayerNorm against its verdict would "
                                                              "do to the outputs.")}},
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
                        tr("How often both models would choose the same: the largest entries along the last axis."));
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
  auto* scroll = new QScrollArea(views);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
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
  if (run_->running()) return tr("Both models are running on the same inputs.");
  if (!run_->problem().isEmpty()) return run_->problem();
  const QString obstacle = run_->obstacle(bar_->settings());
  return obstacle.isEmpty() ? tr("Not compared yet. Compare runs both models and shows where they part.") : obstacle;
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
