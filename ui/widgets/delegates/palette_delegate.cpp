#include "ui/widgets/delegates/palette_delegate.h"

#include <QPainter>

#include "ui/models/search/palette_model.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

namespace normlens::ui {

namespace {

// Letter runs of the same kind are drawn together, so that kerning stays within them.
void paintTitle(QPainter& painter, QRect area, const QString& title, const QVector<int>& matched, const Theme& theme,
                const QColor& color) {
  int at = 0;
  while (at < title.size() && area.width() > 8) {
    const bool strong = matched.contains(at);
    int end = at;
    while (end < title.size() && matched.contains(end) == strong) ++end;
    const QFont font = uiFont(13, strong ? QFont::DemiBold : QFont::Normal);
    const QFontMetrics metrics(font);
    const QString run = title.mid(at, end - at);
    painter.setFont(font);
    painter.setPen(strong ? theme.accentText : color);
    painter.drawText(area, Qt::AlignVCenter | Qt::AlignLeft, metrics.elidedText(run, Qt::ElideRight, area.width()));
    area.setLeft(area.left() + metrics.horizontalAdvance(run));
    at = end;
  }
}

}  // namespace

QSize PaletteDelegate::sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const { return {200, grown(30)}; }

void PaletteDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const Theme theme = themeOf(option.palette);
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  if (option.state & QStyle::State_Selected) {
    painter->setPen(Qt::NoPen);
    painter->setBrush(theme.selection);
    painter->drawRoundedRect(QRectF(option.rect).adjusted(6, 1, -6, -1), 5, 5);
  }
  const bool enabled = index.data(PaletteModel::EnabledRole).toBool();
  const QColor color = enabled ? theme.text : theme.textFaint;
  QRect area = option.rect.adjusted(16, 0, -16, 0);
  paintIcon(*painter, QRectF(area.left(), area.center().y() - 6.5, 14, 14),
            index.data(PaletteModel::IconRole).toString(), enabled ? theme.textSoft : theme.textFaint);
  area.setLeft(area.left() + 24);
  const QString hint = index.data(PaletteModel::HintRole).toString();
  painter->setFont(uiFont(11));
  painter->setPen(theme.textFaint);
  painter->drawText(area, Qt::AlignVCenter | Qt::AlignRight, hint);
  area.setRight(area.right() - QFontMetrics(uiFont(11)).horizontalAdvance(hint) - 12);
  paintTitle(*painter, area, index.data().toString(), index.data(PaletteModel::PositionsRole).value<QVector<int>>(),
             theme, color);
  painter->restore();
}

}  // namespace normlens::ui
