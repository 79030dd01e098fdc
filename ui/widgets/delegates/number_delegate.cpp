#include "ui/widgets/delegates/number_delegate.h"

#include <QPainter>

#include "ui/theme/theme.h"

namespace normlens::ui {

namespace {

constexpr int kFirstMargin = 16, kMargin = 8;

QFont fontOf(int column) { return column == 0 ? uiFont(12) : monoFont(12); }
int leftMargin(int column) { return column == 0 ? kFirstMargin : kMargin; }

}  // namespace

void NumberDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const Theme theme = themeOf(option.palette);
  const QString words = index.data().toString();
  painter->save();
  if (option.state & QStyle::State_Selected) painter->fillRect(option.rect, theme.selection);
  const QRect area = option.rect.adjusted(leftMargin(index.column()), 0, -kMargin, 0);
  const QFont font = fontOf(index.column());
  painter->setFont(font);
  painter->setPen(index.column() == 0 ? theme.textSoft : theme.text);
  const int side = index.column() == 0 ? Qt::AlignLeft : Qt::AlignRight;
  painter->drawText(area, int{Qt::AlignVCenter} | side,
                    QFontMetrics(font).elidedText(words, Qt::ElideRight, area.width()));
  painter->restore();
}

QSize NumberDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const int width = QFontMetrics(fontOf(index.column())).horizontalAdvance(index.data().toString());
  return {width + leftMargin(index.column()) + kMargin + 2, QStyledItemDelegate::sizeHint(option, index).height()};
}

}  // namespace normlens::ui
