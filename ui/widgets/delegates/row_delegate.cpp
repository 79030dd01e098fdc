#include "ui/widgets/delegates/row_delegate.h"

#include <QPainter>

#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

namespace normlens::ui {

RowDelegate::RowDelegate(LookOf lookOf, int rowHeight, QObject* parent)
    : QStyledItemDelegate(parent), lookOf_(std::move(lookOf)), rowHeight_(rowHeight) {}

void RowDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const Theme theme = themeOf(option.palette);
  const RowLook look = lookOf_(index);
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  if (option.state & (QStyle::State_Selected | QStyle::State_MouseOver)) {
    painter->setPen(Qt::NoPen);
    painter->setBrush(option.state & QStyle::State_Selected ? theme.selection : theme.hover);
    painter->drawRoundedRect(QRectF(option.rect).adjusted(2, 0.5, -2, -0.5), 4, 4);
  }
  QRect area = option.rect.adjusted(6, 0, -8, 0);
  if (!look.icon.isEmpty()) {
    paintIcon(*painter, QRectF(area.left(), area.center().y() - 6.5, 14, 14), look.icon, theme.textSoft);
    area.setLeft(area.left() + 20);
  }
  const QFont hintFont = uiFont(11);
  const int hintWidth =
      look.hint.isEmpty() ? 0 : qMin(QFontMetrics(hintFont).horizontalAdvance(look.hint) + 2, area.width() / 2);
  const QFont titleFont = uiFont(12);
  painter->setFont(titleFont);
  painter->setPen(theme.text);
  const int titleWidth = area.width() - (hintWidth > 0 ? hintWidth + 10 : 0);
  painter->drawText(QRect(area.left(), area.top(), titleWidth, area.height()), Qt::AlignVCenter | Qt::AlignLeft,
                    QFontMetrics(titleFont).elidedText(look.title, Qt::ElideMiddle, titleWidth));
  painter->setFont(hintFont);
  painter->setPen(theme.textFaint);
  painter->drawText(area, Qt::AlignVCenter | Qt::AlignRight,
                    QFontMetrics(hintFont).elidedText(look.hint, Qt::ElideRight, hintWidth));
  painter->restore();
}

QSize RowDelegate::sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const { return {80, grown(rowHeight_)}; }

}  // namespace normlens::ui
