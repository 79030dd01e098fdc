#include "ui/window/bottom/norm_table_page.h"

#include <QCheckBox>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QTableView>

#include "ui/models/norm_table.h"
#include "ui/session/session.h"
#include "ui/theme/theme.h"
#include "ui/widgets/delegates/norm_table_delegate.h"
#include "ui/widgets/follow_text.h"
#include "ui/window/parts.h"

namespace normlens::ui {

NormTablePage::NormTablePage(Session* session, QWidget* parent)
    : QWidget(parent), session_(session), model_(new NormTable(this)), sorter_(new NormSorter(this)) {
  sorter_->setSourceModel(model_);
  auto* layout = makeColumn(this);
  layout->addLayout(buildBar());
  buildTable();
  layout->addWidget(table_, 1);
  connect(session_, &Session::analysisChanged, this, &NormTablePage::fill);
  connect(session_, &Session::modelChanged, this, &NormTablePage::fill);
  connect(session_, &Session::planChanged, this, &NormTablePage::showPlan);
  connect(session_->selection(), &GraphSelection::changed, this, &NormTablePage::followSelection);
  fill();
}

QLayout* NormTablePage::buildBar() {
  auto* bar = makeRow(nullptr, 14, {16, 6, 16, 6});
  auto* filter = describe(new QLineEdit(this), "normTableFilter",
                          tr("Filter by name, verdict or reason: only norms in which all these words occur are shown."),
                          tr("Filter the table of LayerNorms"));
  filter->setPlaceholderText(tr("Filter by name, verdict or reason"));
  filter->setClearButtonEnabled(true);
  followText(filter, [filter] { filter->setMaximumWidth(grown(280)); });
  auto* grouped = describe(new QCheckBox(tr("Group by verdict"), this), "normTableGrouped",
                           tr("Norms that fold free first, blocked ones last; the columns sort within each group."));
  count_ = makeLabel({}, "faint", this);
  bar->addWidget(filter, 100);  // before the stretch, up to its own most
  bar->addWidget(grouped);
  bar->addStretch(1);
  bar->addWidget(count_);
  connect(filter, &QLineEdit::textChanged, this, [this](const QString& words) {
    sorter_->setWords(words);
    showCount();
  });
  connect(grouped, &QCheckBox::toggled, sorter_, &NormSorter::setGrouped);
  return bar;
}

void NormTablePage::buildTable() {
  table_ = makeTable("normTable", tr("Table of LayerNorms"), 25, sorter_, this,
                     [this](QMenu* menu, const QModelIndex&) { extendMenu(menu); });
  table_->setItemDelegate(new NormTableDelegate(table_));
  table_->setSortingEnabled(true);
  table_->sortByColumn(NormTable::Place, Qt::AscendingOrder);
  QHeaderView* header = table_->horizontalHeader();
  header->setStretchLastSection(true);
  header->setSectionsMovable(true);
  setColumnWidths(table_, {{NormTable::Place, 56},
                           {NormTable::Name, 210},
                           {NormTable::Verdict, 120},
                           {NormTable::InPlan, 108},
                           {NormTable::Over, 64},
                           {NormTable::Form, 84},
                           {NormTable::Centerings, 84},
                           {NormTable::Shared, 88},
                           {NormTable::Paper, 60},
                           {NormTable::Practical, 72},
                           {NormTable::Strict, 60},
                           {NormTable::Gamma, 124},
                           {NormTable::Beta, 124},
                           {NormTable::Reason, 360}});
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& now) {
    if (!following_ && now.isValid()) session_->selection()->selectNorm(now.data(NormTable::NormRole).toInt());
  });
}

void NormTablePage::fill() {
  following_ = true;
  model_->setNorms(session_->analysis() ? session_->analysis()->norms : std::vector<protocol::NormInfo>());
  showPlan();
  showCount();
  following_ = false;
  followSelection();
}

void NormTablePage::showPlan() { model_->setPlan(session_->planMarks()); }

void NormTablePage::showCount() {
  const int all = model_->rowCount(), shown = sorter_->rowCount();
  count_->setText(!session_->analysis() ? tr("The norms come with the analysis.")
                  : shown < all         ? tr("%1 of %2 LayerNorms").arg(shown).arg(all)
                  : all == 1            ? tr("1 LayerNorm")
                                        : tr("%1 LayerNorms").arg(all));
}

void NormTablePage::followSelection() {
  const int row = model_->rowOf(session_->selection()->current().norm);
  const QModelIndex at = row < 0 ? QModelIndex() : sorter_->mapFromSource(model_->index(row, 0));
  if (at.isValid() && table_->currentIndex().row() == at.row()) return;
  following_ = true;
  showRow(table_, at);
  following_ = false;
}

void NormTablePage::extendMenu(QMenu* menu) {
  std::vector<int> norms;
  for (const QModelIndex& index : table_->selectionModel()->selectedRows()) {
    norms.push_back(index.data(NormTable::NormRole).toInt());
  }
  if (norms.empty()) return;
  const auto add = [&](const QString& title, const char* name, bool keep) {
    QAction* action = menu->addAction(title);
    action->setObjectName(QLatin1String(name));
    connect(action, &QAction::triggered, this, [this, norms, keep] { session_->choices()->keepNorms(norms, keep); });
  };
  add(tr("Keep as LayerNorm"), "keepChosen", true);
  add(tr("Fold if the plan can"), "foldChosen", false);
}

}  // namespace normlens::ui
