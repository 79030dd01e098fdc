#include "ui/learn/card_paint.h"

#include <QPainter>

#include "ui/theme/theme.h"

namespace normlens::ui {

QRectF paintCard(QPainter& painter, const QRectF& area, const CardWords& words, const Theme& theme, double factor) {
  painter.setPen(theme.hairline);
  painter.setBrush(theme.panel);
  painter.drawRoundedRect(area.adjusted(0.5, 0.5, -0.5, -0.5), 8, 8);
  const QRectF inside = area.adjusted(16, 10, -16, -10);
  const QRectF heading(inside.left(), inside.top(), inside.width(), 20 * factor);
  painter.setFont(uiFont(static_cast<int>(13 * factor), QFont::DemiBold));
  painter.setPen(theme.text);
  painter.drawText(heading, Qt::AlignLeft | Qt::AlignVCenter, words.title);
  painter.setFont(uiFont(static_cast<int>(12 * factor)));
  painter.setPen(theme.textSoft);
  painter.drawText(heading, Qt::AlignRight | Qt::AlignVCenter, words.claim);
  return inside.adjusted(0, heading.height() + 6, 0, 0);
}

}  // namespace normlens::ui
