#include "ui/widgets/delegates/figure_delegate.h"

#include <QPainter>

#include "ui/models/forced_error_table.h"
#include "ui/theme/class_mark.h"
#include "ui/theme/error_scale.h"

namespace normlens::ui {

namespace {

constexpr int kMark = 13, kMarkGap = 9, kRightMargin = 15;  // as in the header, with room for its arrow

}  // namespace

void FigureDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const Theme theme = themeOf(option.palette);
  painter->save();
  if (option.state & QStyle::State_Selected) painter->fillRect(option.rect, theme.selection);
  const int tone = toneRole_ < 0 ? ForcedErrorTable::Plain : index.data(toneRole_).toInt();
  if (tone != ForcedErrorTable::Plain) {
    painter->fillRect(option.rect.adjusted(1, 1, -1, -2),
                      tone == ForcedErrorTable::Wrong ? theme.blockedBack : floorColor(theme));
  }
  const auto alignment = index.data(Qt::TextAlignmentRole).value<Qt::Alignment>();
  const bool figure = alignment.testFlag(Qt::AlignRight), name = index.column() == nameColumn_;
  const QFont font = figure || name ? monoFont(11) : uiFont(12);
  QRect area = option.rect.adjusted(index.column() == 0 ? 16 : 8, 0, figure ? -kRightMargin : -8, 0);
  const QString mark = markRole_ < 0 || index.column() > 0 ? QString() : index.data(markRole_).toString();
  if (!mark.isEmpty()) {
    const int extent = grown(kMark);
    paintClassMark(*painter, QRectF(area.left(), area.center().y() - extent / 2.0 + 0.5, extent, extent), mark.front(),
                   theme);
    area.setLeft(area.left() + extent + kMarkGap);
  }
  painter->setFont(font);
  painter->setPen(tone == ForcedErrorTable::Wrong ? theme.blocked : name || figure ? theme.text : theme.textSoft);
  const QString words = index.data().toString() + (tone == ForcedErrorTable::Within ? QStringLiteral(" ✓") : QString());
  painter->drawText(area, static_cast<int>(alignment.toInt()),
                    QFontMetrics(font).elidedText(words, name ? Qt::ElideLeft : Qt::ElideRight, area.width()));
  painter->setPen(theme.hairline);
  painter->drawLine(option.rect.bottomLeft(), option.rect.bottomRight());
  painter->restore();
}

}  // namespace normlens::ui
