#include "ui/widgets/delegates/figure_delegate.h"

#include <QPainter>

#include "ui/models/difference_table.h"
#include "ui/theme/error_scale.h"

namespace normlens::ui {

void FigureDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const Theme theme = themeOf(option.palette);
  painter->save();
  if (option.state & QStyle::State_Selected) painter->fillRect(option.rect, theme.selection);
  if (index.data(DifferenceTable::FloorRole).toBool())
    painter->fillRect(option.rect.adjusted(2, 2, -2, -3), floorColor(theme));
  const auto alignment = index.data(Qt::TextAlignmentRole).value<Qt::Alignment>();
  const bool figure = alignment.testFlag(Qt::AlignRight), name = index.column() == nameColumn_;
  const QFont font = figure || name ? monoFont(11) : uiFont(12);
  const QRect area = option.rect.adjusted(index.column() == 0 ? 16 : 8, 0, -8, 0);
  painter->setFont(font);
  painter->setPen(name || figure ? theme.text : theme.textSoft);
  painter->drawText(
      area, alignment,
      QFontMetrics(font).elidedText(index.data().toString(), name ? Qt::ElideLeft : Qt::ElideRight, area.width()));
  painter->setPen(theme.hairline);
  painter->drawLine(option.rect.bottomLeft(), option.rect.bottomRight());
  painter->restore();
}

}  // namespace normlens::ui
