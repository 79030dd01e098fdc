#include "ui/window/learn/atlas_page.h"

#include <QComboBox>
#include <QHeaderView>
#include <QLineEdit>
#include <QPainter>
#include <QScrollArea>
#include <QTableView>

#include "ui/models/atlas_table.h"
#include "ui/session/session.h"
#include "ui/theme/theme.h"
#include "ui/widgets/delegates/figure_delegate.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/property_list.h"
#include "ui/widgets/push_button.h"
#include "ui/widgets/tables.h"
#include "ui/window/learn/learn_bar.h"
#include "ui/window/parts.h"
#include "ui/words/format.h"

namespace normlens::ui {
namespace {

constexpr int kDetails = 280, kAtlasRow = 28, kShareHeight = 6;

// Paints the verdicts of a row's norms as lengths.
class ShareDelegate final : public FigureDelegate {
 public:
  using FigureDelegate::FigureDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    FigureDelegate::paint(painter, option, index);
    const Theme theme = themeOf(option.palette);
    const QVariantList shares = index.data(AtlasTable::SharesRole).toList();
    const QColor colors[] = {theme.good, theme.centering, theme.blocked, theme.textFaint};
    double all = 0, left = option.rect.left() + 8;
    for (const QVariant& share : shares) all += share.toInt();
    for (qsizetype i = 0; all > 0 && i < shares.size(); ++i) {
      const double width = (option.rect.width() - 16) * shares[i].toInt() / all;
      const double top = option.rect.center().y() - kShareHeight / 2.0;
      painter->fillRect(QRectF(left, top, std::max(0.0, width - 1), kShareHeight), colors[i]);
      left += width;
    }
  }
};

}  // namespace

AtlasPage::AtlasPage(Session* session, QWidget* parent)
    : FiguresPage(LearnPageKind::Atlas, session, parent),
      table_(new AtlasTable(this)),
      filter_(new AtlasFilter(table_)) {
  setObjectName(QStringLiteral("atlasPage"));
  auto* column = makeColumn(this);
  column->addWidget(bar_);
  auto* body = makeRow(nullptr);
  body->addWidget(makeFigures(), 1);
  auto* side = describe(new QFrame(this), "atlasColumn");
  setTextWidth(side, kDetails);
  auto* area = makeScrollArea(side, tr("Model of the atlas"), Qt::ScrollBarAlwaysOff);
  area->setWidget(makeDetails(area));
  makeColumn(side)->addWidget(area);
  body->addWidget(side);
  column->addLayout(body, 1);
  bar_->setModelName(session_->title());
  connect(session_, &Session::modelChanged, this, [this] { bar_->setModelName(session_->title()); });
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &AtlasPage::showChosen);
  for (const auto signal : {&AtlasFilter::rowsInserted, &AtlasFilter::rowsRemoved})
    connect(filter_, signal, this, [this] {
      showTotals();
      if (!view_->currentIndex().isValid()) showRow(view_, filter_->index(0, 0));
      showChosen();
    });
  showRow(view_, filter_->index(0, 0));
  showTotals();
}

QWidget* AtlasPage::makeFigures() {
  auto* ground = describe(new QWidget(this), "figureGround");
  auto* column = makeColumn(ground, 8, {16, 16, 16, 12});
  column->addWidget(makeLabel(tr("Which architectures fold?"), "title", ground));
  column->addWidget(makeWords("soft", ground,
                              tr("Small configurations with random γ and β, built by their libraries, exported as .pt2 "
                                 "and .onnx, and analyzed. Open your own model to see its weights.")));
  column->addLayout(makeFilters(ground));
  view_ = makeTable("atlasTable", tr("Architectures"), kAtlasRow, filter_, ground);
  view_->setItemDelegate(new FigureDelegate(-1, view_));
  view_->setItemDelegateForColumn(AtlasTable::Share, new ShareDelegate(-1, view_));
  view_->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
  view_->horizontalHeader()->setSortIndicatorClearable(true);  // back to the groups
  view_->setSortingEnabled(true);
  view_->horizontalHeader()->setStretchLastSection(true);
  setColumnWidths(view_, {{AtlasTable::Name, 170},
                          {AtlasTable::Layers, 58},
                          {AtlasTable::Norms, 64},
                          {AtlasTable::Free, 48},
                          {AtlasTable::Centering, 76},
                          {AtlasTable::Blocked, 64},
                          {AtlasTable::Share, 80},
                          {AtlasTable::Paper, 54},
                          {AtlasTable::Practical, 90},
                          {AtlasTable::Strict, 54},
                          {AtlasTable::Printed, 92}});
  column->addWidget(view_, 1);
  auto* foot = makeRow(nullptr, 8);
  totals_ = describe(makeWords("strong", ground), "atlasTotals");
  foot->addWidget(totals_, 1);
  foot->addWidget(makeWords("small", ground, tr("made with %1").arg(table_->versions())), 1);
  column->addLayout(foot);
  return ground;
}

QLayout* AtlasPage::makeFilters(QWidget* parent) {
  auto* row = makeRow(nullptr, 8);
  words_ = describe(new QLineEdit(parent), "atlasFilter",
                    tr("Show only architectures whose name, class or reason contains these words."),
                    tr("Filter architectures"));
  words_->setPlaceholderText(tr("Filter"));
  addLeadingIcon(words_, "filter");
  connect(words_, &QLineEdit::textChanged, filter_, &AtlasFilter::setWords);
  row->addWidget(words_, 1);
  groups_ = {{}};
  for (const AtlasRow& each : table_->rows())
    if (!groups_.contains(each.group)) groups_ << each.group;
  groups_ << AtlasFilter::printedGroup();
  auto* groups = describe(new QComboBox(parent), "atlasGroups", tr("Show only this kind of architecture."),
                          tr("Kind of architecture"));
  for (const QString& group : std::as_const(groups_)) {
    const auto members =
        std::ranges::count_if(table_->rows(), [&](const AtlasRow& each) { return AtlasFilter::isIn(each, group); });
    groups->addItem((group.isEmpty() ? tr("All") : group) + u' ' + QString::number(members));
  }
  groups->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  groups->setMinimumContentsLength(8);
  connect(groups, &QComboBox::currentIndexChanged, this, [this](int chosen) { filter_->setGroup(groups_[chosen]); });
  row->addWidget(groups);
  auto* copy = describe(new PushButton(tr("Copy as LaTeX"), PushButton::Look::Outlined, parent), "atlasCopy",
                        tr("Copy the rows that are shown as a LaTeX table."));
  connect(copy, &PushButton::clicked, this, [this] { copyTable(*view_, TableFormat::Latex, CopyRows::All); });
  row->addWidget(copy);
  return row;
}

QWidget* AtlasPage::makeDetails(QWidget* side) {
  auto* inside = new QWidget(side);
  auto* words = makeColumn(inside, 8, {16, 18, 16, 16});
  name_ = describe(makeWords("title", inside), "atlasName");
  made_ = makeWords("mono", inside);
  reason_ = makeWords("fact", inside);
  note_ = describe(makeWords("soft", inside), "atlasNote");
  foldable_ = makeLabel({}, "section", inside);
  counts_ = new PropertyList(inside);
  for (QWidget* each : std::initializer_list<QWidget*>{name_, made_, reason_, note_, makeLine(Qt::Horizontal, inside),
                                                       foldable_, counts_})
    words->addWidget(each);
  words->addStretch();
  return inside;
}

void AtlasPage::showTotals() {
  int norms = 0, free = 0, centering = 0, blocked = 0;
  for (int at = 0; at < filter_->rowCount(); ++at) {
    const AtlasRow& row = table_->row(filter_->mapToSource(filter_->index(at, 0)).row());
    norms += row.norms;
    free += row.free;
    centering += row.centering;
    blocked += row.blocked;
  }
  totals_->setText(tr("%1 architectures · %2 norms · %3 free · %4 with centering · %5 blocked")
                       .arg(formatCount(filter_->rowCount()), formatCount(norms), formatCount(free),
                            formatCount(centering), formatCount(blocked)));
}

void AtlasPage::showChosen() {
  const QModelIndex at = filter_->mapToSource(view_->currentIndex());
  AtlasRow none;
  none.name = tr("No matches.");
  const AtlasRow& row = at.isValid() ? table_->row(at.row()) : none;
  for (QWidget* each : std::initializer_list<QWidget*>{made_, reason_, note_, foldable_, counts_})
    each->setVisible(at.isValid());
  name_->setText(row.name);
  made_->setText(row.made + tr(", layers: %1").arg(row.layers));
  reason_->setText(row.reason);
  note_->setText(row.note.isEmpty() ? tr(".pt2 and .onnx agree.") : row.note);
  foldable_->setText(tr("Foldable, of %1").arg(row.norms));
  const auto printed = [&](int AtlasRow::Printed::*count) {
    return row.printed ? tr("%1 of %2").arg((*row.printed).*count).arg(row.printed->norms) : QStringLiteral("–");
  };
  counts_->setProperties({{tr("Algorithm 1, as printed"), printed(&AtlasRow::Printed::foldable)},
                          {tr("Algorithm 1, run by NormLens"), QString::number(row.paper)},
                          {tr("with centering, as printed"), printed(&AtlasRow::Printed::practical)},
                          {tr("with centering, run by NormLens"), QString::number(row.practical)},
                          {tr("strict (D.2), run by NormLens"), QString::number(row.strict)},
                          {tr("NormLens, weights only"), QString::number(row.free)},
                          {tr("NormLens, with centering"), QString::number(row.free + row.centering)}});
}

}  // namespace normlens::ui
