#include "ui/window/bottom/pages.h"

#include <QCheckBox>
#include <QHeaderView>
#include <QLineEdit>
#include <QMenu>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QWidget>

#include "ui/models/norm_model.h"
#include "ui/models/norm_table.h"
#include "ui/session/norm_costs.h"
#include "ui/session/session.h"
#include "ui/theme/icons.h"
#include "ui/theme/mark_color.h"
#include "ui/theme/theme.h"
#include "ui/widgets/follow_text.h"
#include "ui/window/parts.h"

namespace normlens::ui {
namespace {

bool monospaced(int column) {
  return column == NormTable::Name || column == NormTable::Gamma || column == NormTable::Beta ||
         column == NormTable::Over;
}

bool startsGroup(const QModelIndex& index) {
  const auto* sorter = qobject_cast<const NormSorter*>(index.model());
  if (sorter == nullptr || !sorter->grouped() || index.row() == 0) return false;
  return index.data(NormTable::VerdictRole) != index.siblingAtRow(index.row() - 1).data(NormTable::VerdictRole);
}

// Paints the norm table: the verdict with its mark, names and numbers monospaced, a line above each group.
class NormTableDelegate final : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const Theme theme = themeOf(option.palette);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    if (option.state & QStyle::State_Selected) painter->fillRect(option.rect, theme.selection);
    QRect area = option.rect.adjusted(index.column() == NormTable::Place ? 16 : 8, 0, -8, 0);
    if (index.column() == NormTable::Verdict) {
      const auto verdict = static_cast<Verdict>(index.data(NormTable::VerdictRole).toInt());
      paintIcon(*painter, QRectF(area.left(), area.center().y() - 6.5, 14, 14), verdictIcon(verdict),
                verdictColor(verdict, theme));
      area.setLeft(area.left() + 20);
    }
    if (index.column() == NormTable::InPlan) {
      const auto state = static_cast<PlanState>(index.data(NormTable::PlanRole).toInt());
      paintIcon(*painter, QRectF(area.left(), area.center().y() - 6.5, 14, 14), planIcon(state),
                planColor(state, theme));
      area.setLeft(area.left() + 20);
    }
    const bool mono = monospaced(index.column());
    const QFont font = mono ? monoFont(11) : uiFont(12);
    painter->setFont(font);
    painter->setPen(index.column() == NormTable::Name || index.column() == NormTable::Verdict ? theme.text
                                                                                              : theme.textSoft);
    const auto elide = index.column() == NormTable::Name ? Qt::ElideLeft : Qt::ElideRight;
    painter->drawText(area, Qt::AlignVCenter | Qt::AlignLeft,
                      QFontMetrics(font).elidedText(index.data().toString(), elide, area.width()));
    painter->setPen(theme.hairline);
    painter->drawLine(option.rect.bottomLeft(), option.rect.bottomRight());
    if (startsGroup(index))
      painter->fillRect(QRect(option.rect.left(), option.rect.top(), option.rect.width(), 2), theme.control);
    painter->restore();
  }
};

// The LayerNorms as a table: sort by any column, filter by words, group by verdict, copy, fold or keep the chosen ones.
class NormTablePage final : public QWidget {
 public:
  NormTablePage(Session* session, QWidget* parent)
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
    connect(session_->costs(), &NormCosts::changed, this, &NormTablePage::showCosts);
    fill();
  }

 protected:
  void showEvent(QShowEvent* event) override {
    QWidget::showEvent(event);
    session_->costs()->want();
  }

 private:
  QLayout* buildBar() {
    auto* bar = makeRow(nullptr, 14, {16, 6, 16, 6});
    auto* filter = describe(new QLineEdit(this), "normTableFilter",
                            tr("Filter by name, verdict or reason: show only norms that contain all these words."),
                            tr("Filter the table of LayerNorms"));
    filter->setPlaceholderText(tr("Filter by name, verdict or reason"));
    filter->setClearButtonEnabled(true);
    followText(filter, [filter] { filter->setMaximumWidth(grown(280)); });
    auto* grouped = describe(new QCheckBox(tr("Group by verdict"), this), "normTableGrouped",
                             tr("Free norms first, blocked ones last. The columns sort within each group."));
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
  void buildTable() {
    table_ = makeTable("normTable", tr("Table of LayerNorms"), 25, sorter_, this,
                       [this](QMenu* menu, const QModelIndex&) { extendMenu(menu); });
    table_->setItemDelegate(new NormTableDelegate(table_));
    table_->setSortingEnabled(true);
    table_->sortByColumn(NormTable::Place, Qt::AscendingOrder);
    QHeaderView* header = table_->horizontalHeader();
    header->setStretchLastSection(true);
    header->setSectionsMovable(true);
    setColumnWidths(table_, {{NormTable::Place, 56},
                             {NormTable::Name, 264},
                             {NormTable::Verdict, 120},
                             {NormTable::InPlan, 148},
                             {NormTable::Over, 64},
                             {NormTable::Form, 84},
                             {NormTable::Centerings, 84},
                             {NormTable::Shared, 88},
                             {NormTable::Saves, 124},
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
  void fill() {
    following_ = true;
    model_->setNorms(session_->analysis() ? session_->analysis()->norms : std::vector<protocol::NormInfo>());
    showPlan();
    showCosts();
    showCount();
    following_ = false;
    followSelection();
  }
  void showCosts() {
    std::vector<std::optional<NormCost>> costs(static_cast<size_t>(model_->rowCount()));
    for (size_t norm = 0; norm < costs.size(); ++norm) costs[norm] = session_->costs()->of(static_cast<int>(norm));
    model_->setCosts(std::move(costs));
  }
  void showPlan() { model_->setPlan(session_->planMarks()); }
  void showCount() {
    const int all = model_->rowCount(), shown = sorter_->rowCount();
    count_->setText(!session_->analysis() ? tr("Waiting for the analysis.")
                    : shown < all         ? tr("%1 of %2 LayerNorms").arg(shown).arg(all)
                    : all == 1            ? tr("1 LayerNorm")
                                          : tr("%1 LayerNorms").arg(all));
  }
  void followSelection() {
    const int row = model_->rowOf(session_->selection()->current().norm);
    const QModelIndex at = row < 0 ? QModelIndex() : sorter_->mapFromSource(model_->index(row, 0));
    if (at.isValid() && table_->currentIndex().row() == at.row()) return;
    following_ = true;
    showRow(table_, at);
    following_ = false;
  }
  // By what can be done with the chosen norms.
  void extendMenu(QMenu* menu) {
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
    add(tr("Allow folding"), "foldChosen", false);
  }

  Session* session_;  // Not owned.
  NormTable* model_;
  NormSorter* sorter_;
  QLabel* count_;
  QTableView* table_;
  bool following_ = false;  // the table follows the selection, it does not make one
};

}  // namespace

QWidget* makeNormTablePage(Session* session, QWidget* parent) { return new NormTablePage(session, parent); }

}  // namespace normlens::ui
