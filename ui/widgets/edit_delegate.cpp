#include "ui/widgets/edit_delegate.h"

#include <QPainter>

#include "ui/models/edit_model.h"
#include "ui/theme/class_mark.h"
#include "ui/theme/theme.h"

namespace normlens::ui {

void EditDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const Theme theme = themeOf(option.palette);
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  if (option.state & QStyle::State_Selected) painter->fillRect(option.rect, theme.selection);
  const bool kind = index.column() == EditModel::Kind;
  QRect area = option.rect.adjusted(kind ? 16 : 8, 0, -8, 0);
  if (kind) {
    const QString mark = index.data(EditModel::ClassRole).toString();
    paintClassMark(*painter, QRectF(area.left() + 2, area.center().y() - 6, 13, 13), mark.isEmpty() ? u'L' : mark.at(0),
                   theme);
    area.setLeft(area.left() + 24);
  }
  const bool number = index.column() >= EditModel::Bytes;
  const QFont font = number ? monoFont(11) : uiFont(12);
  painter->setFont(font);
  painter->setPen(kind || index.column() == EditModel::What ? theme.text : theme.textSoft);
  const auto alignment = Qt::Alignment(index.data(Qt::TextAlignmentRole).toInt());
  painter->drawText(area, alignment,
                    QFontMetrics(font).elidedText(index.data().toString(), Qt::ElideRight, area.width()));
  painter->setPen(theme.hairline);
  painter->drawLine(option.rect.bottomLeft(), option.rect.bottomRight());
  painter->restore();
}

}  // namespace normlens::ui
