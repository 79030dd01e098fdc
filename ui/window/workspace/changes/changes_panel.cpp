#include "ui/window/workspace/changes/changes_panel.h"

#include <QFileInfo>
#include <QHeaderView>
#include <QMenu>
#include <QScopedValueRollback>
#include <QTableView>
#include <algorithm>

#include "ui/models/record_table.h"
#include "ui/session/session.h"
#include "ui/theme/theme.h"
#include "ui/widgets/delegates/figure_delegate.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/property_list.h"
#include "ui/widgets/segmented.h"
#include "ui/widgets/tables.h"
#include "ui/window/parts.h"
#include "ui/window/workspace/changes/change_details.h"

namespace normlens::ui {

namespace {

constexpr int kSide = 16, kTitleHeight = 30, kRowHeight = 26, kKindWidth = 124, kPad = 20, kSortArrow = 14;

// Returns the text for models that differ, but nowhere in this way.
QString nothingOf(ChangeClass kind) {
  switch (kind) {
    case ChangeClass::RmsNorms:
      return ChangesPanel::tr("No LayerNorm became an RMSNorm on the right.");
    case ChangeClass::Centered:
      return ChangesPanel::tr("No weight was only centered.");
    case ChangeClass::Shifts:
      return ChangesPanel::tr("No shift of a LayerNorm moved into a bias.");
    case ChangeClass::Weights:
      return ChangesPanel::tr("No weights differ other than by centering and shifts.");
    case ChangeClass::Ops:
      return ChangesPanel::tr("No nodes differ except LayerNorms that became RMSNorms.");
    case ChangeClass::All:
      break;
  }
  return {};
}

}  // namespace

ChangesPanel::ChangesPanel(Session* session, QWidget* parent)
    : QWidget(parent), session_(session), rows_(new ChangeTable(this)), shown_(new RecordSorter(this)) {
  setObjectName(QStringLiteral("changes"));
  setAutoFillBackground(true);
  setBackgroundRole(QPalette::Base);
  shown_->setSourceModel(rows_);
  shown_->setFilterRole(ChangeTable::ClassRole);
  build();
  showCounts();
  showChosen();
}

void ChangesPanel::build() {
  auto* layout = makeColumn(this);
  table_ = makeTable("changeTable", tr("Changes from the left to the right"), kRowHeight, shown_, this);
  table_->setItemDelegate(new FigureDelegate(ChangeTable::Where, table_, -1, ChangeTable::MarkRole));
  table_->setSortingEnabled(true);
  table_->sortByColumn(ChangeTable::Where, Qt::AscendingOrder);
  table_->horizontalHeader()->setSectionResizeMode(ChangeTable::Where, QHeaderView::Stretch);
  table_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  followText(table_, [this] {
    table_->setMinimumHeight(grown(4 * kRowHeight));
    fitLargest();
  });
  setColumnWidths(table_, {{ChangeTable::Kind, kKindWidth}});
  nothing_ = describe(makeNotice(table_->viewport()), "changesNothing");
  makeColumn(table_->viewport())->addWidget(nothing_);
  layout->addWidget(makeHeader());
  auto* bar = makeRow(nullptr, 0, {kSide, 8, kSide, 8});
  filter_ = describe(new Segmented(QVector<Segment>(kChangeClasses), this), "changeFilter", {}, tr("Kinds of changes"));
  filter_->setSnug(true);
  bar->addWidget(filter_);
  bar->addStretch(1);
  layout->addLayout(bar);
  layout->addWidget(table_, 1);
  layout->addWidget(makeDetails());
  connect(filter_, &Segmented::chosen, this, [this](int kind) {
    const QScopedValueRollback<bool> quiet(quiet_, true);
    shown_->setFilterFixedString(kind == 0 ? QString() : QString::number(kind));
    showNothing();
    showChosen();
  });
  connect(shown_, &RecordSorter::layoutChanged, this, &ChangesPanel::showChosen);  // sorted: another place in the order
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this] {
    showChosen();
    const int row = currentRow();
    if (!quiet_ && row >= 0) Q_EMIT chosen(rows_->row(row).change.a, rows_->row(row).change.b);
  });
}

QWidget* ChangesPanel::makeHeader() {
  QFrame* bar = makeBar(QStringLiteral("crumbBar"), kTitleHeight, this);
  layoutOf(bar)->addWidget(makeLabel(tr("Changes"), "section", bar), 1);
  auto* button = describe(new IconButton(QStringLiteral("export"), tr("Export list"),
                                         tr("Copy or save the changes, in the order shown."), bar),
                          "changesExport");
  auto* menu = new QMenu(button);
  addCopyActions(menu, table_, CopyRows::All);
  menu->addSeparator();
  QAction* save = menu->addAction(tr("Save as CSV…"), this, &ChangesPanel::save);
  save->setObjectName(QStringLiteral("changesSaveCsv"));
  button->setMenu(menu);
  button->setLook(IconButton::Look::Outlined);
  button->setPopupMode(QToolButton::InstantPopup);
  layoutOf(bar)->addWidget(button);
  return bar;
}

QWidget* ChangesPanel::makeDetails() {
  details_ = describe(new QWidget(this), "changeDetails");
  auto* layout = makeColumn(details_);
  layout->addWidget(makeLine(Qt::Horizontal, details_));
  auto* inner = makeColumn(nullptr, 4, {kSide, 8, kSide, 10});
  auto* head = makeRow(nullptr, 12);
  title_ = describe(new ElidedLabel({}, Qt::ElideLeft, details_), "changeTitle");
  title_->setProperty("kind", "section");
  place_ = makeLabel({}, "faint", details_);
  head->addWidget(title_, 1);
  head->addWidget(place_);
  inner->addLayout(head);
  facts_ = new PropertyList(details_);
  inner->addWidget(facts_);
  layout->addLayout(inner);
  return details_;
}

void ChangesPanel::show(ComparedGraphs graphs, std::vector<graphview::Change> changes) {
  const QScopedValueRollback<bool> quiet(quiet_, true);
  const int before = currentRow();
  const auto kept = before < 0 ? graphview::Change{} : rows_->row(before).change;
  rows_->show(std::move(graphs), std::move(changes));
  chooseQuietly(rows_->rowWhere([&](const ChangeRow& row) {
    const auto& change = row.change;
    return before >= 0 && change.kind == kept.kind && change.a == kept.a && change.b == kept.b;
  }));
  showCounts();
}

void ChangesPanel::setFigures(const std::vector<ChangeTable::Weights>& weights,
                              const std::vector<protocol::WeightChange>& changes) {
  const QScopedValueRollback<bool> quiet(quiet_, true);
  rows_->setFigures(weights, changes);
  showCounts();
  showChosen();
}

void ChangesPanel::step(bool forward) {
  const int count = shown_->rowCount();
  if (count == 0) return;
  const QModelIndex at = table_->currentIndex();
  const int next = !at.isValid() ? (forward ? 0 : count - 1) : (at.row() + (forward ? 1 : count - 1)) % count;
  if (at.isValid() && next == at.row())
    return Q_EMIT chosen(rows_->row(currentRow()).change.a, rows_->row(currentRow()).change.b);
  showRow(table_, shown_->index(next, 0));
}

void ChangesPanel::follow(bool other, int place) {
  const int row = currentRow();
  const auto at = [&](const ChangeRow& each) { return (other ? each.change.b : each.change.a) == place; };
  if (row < 0 || !at(rows_->row(row))) chooseQuietly(rows_->rowWhere(at));
}

void ChangesPanel::chooseQuietly(int row) {
  const QScopedValueRollback<bool> quiet(quiet_, true);
  showRow(table_, row < 0 ? QModelIndex() : shown_->mapFromSource(rows_->index(row, 0)));
  showChosen();
}

int ChangesPanel::currentRow() const {
  const QModelIndex at = table_->currentIndex();
  return at.isValid() ? shown_->mapToSource(at).row() : -1;
}

void ChangesPanel::showNothing() {
  nothing_->setText(nothingOf(static_cast<ChangeClass>(filter_->current())));
  nothing_->setVisible(rows_->rowCount() > 0 && shown_->rowCount() == 0);
}

// Makes the column as wide as its words, so that names have what is left.
void ChangesPanel::fitLargest() {
  const QFontMetrics figures(monoFont(11)), head(uiFont(11, QFont::Medium));
  qsizetype letters = 0;
  for (const ChangeRow& row : rows_->rows()) letters = std::max(letters, row.largest().size());
  const int cells = static_cast<int>(letters) * figures.horizontalAdvance(u'0');
  const QString title = rows_->headerData(ChangeTable::Largest, Qt::Horizontal, Qt::DisplayRole).toString();
  table_->horizontalHeader()->resizeSection(ChangeTable::Largest,
                                            kPad + std::max(cells, head.horizontalAdvance(title) + kSortArrow));
}

void ChangesPanel::showCounts() {
  const auto counts = rows_->counts();
  const auto segment = [&](const QString& words, ChangeClass kind, const QString& tip) {
    return Segment{QStringLiteral("%1 %2").arg(words).arg(counts[static_cast<size_t>(kind)]), tip};
  };
  filter_->setSegments(
      {segment(tr("All"), ChangeClass::All, tr("All changes.")),
       segment(tr("RMSNorm"), ChangeClass::RmsNorms, tr("LayerNorms that are RMSNorms on one side only.")),
       segment(tr("Centered"), ChangeClass::Centered, tr("Weights whose mean was subtracted.")),
       segment(tr("Shifts"), ChangeClass::Shifts, tr("Biases into which the β of a LayerNorm moved.")),
       segment(tr("Weights"), ChangeClass::Weights, tr("Weights with other changes.")),
       segment(tr("Nodes"), ChangeClass::Ops, tr("Nodes that only one side has, or that were replaced."))});
  foldFilter();
  fitLargest();
  showNothing();
}

void ChangesPanel::showChosen() {
  const int row = currentRow();
  details_->setVisible(row >= 0);
  if (row < 0) return;
  title_->setFullText(rows_->row(row).title());
  place_->setText(tr("%1 of %2").arg(table_->currentIndex().row() + 1).arg(shown_->rowCount()));
  facts_->setProperties(changeDetails(rows_->row(row), rows_->graphs()));
}

void ChangesPanel::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  foldFilter();
}

void ChangesPanel::foldFilter() {
  filter_->setFolded(false);
  if (filter_->sizeHint().width() > width() - 2 * kSide) filter_->setFolded(true);
}

void ChangesPanel::save() {
  const QString own = QFileInfo(session_->path()).completeBaseName();
  const FileQuestion question{QStringLiteral("changesDialog"),
                              tr("Save the list of changes"),
                              {tr("Table (*.csv)")},
                              folderOf(session_->path()),
                              own + QStringLiteral("_changes")};
  askForFile(this, question, [this](const QString& path) {
    const QString table = tableText(*shown_, allRows(*shown_), TableFormat::Csv);
    if (!writeFile(path, table.toUtf8())) Q_EMIT session_->problem(tr("%1 could not be written.").arg(path), {});
  });
}

}  // namespace normlens::ui
