#include "ui/widgets/delegates/norm_table_delegate.h"

#include <QPainter>

#include "ui/models/norm_model.h"
#include "ui/models/norm_table.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/widgets/mark_color.h"

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

}  // namespace

void NormTableDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
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
    paintIcon(*painter, QRectF(area.left(), area.center().y() - 6.5, 14, 14), planIcon(state), planColor(state, theme));
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

}  // namespace normlens::ui
