#include "ui/learn/card_paint.h"

#include <QPainter>

#include "ui/theme/theme.h"

namespace normlens::ui {
namespace {

void paintGround(QPainter& painter, const QRectF& area, const Theme& theme) {
  painter.setPen(theme.hairline);
  painter.setBrush(theme.panel);
  painter.drawRoundedRect(area.adjusted(0.5, 0.5, -0.5, -0.5), 8, 8);
}

}  // namespace

QRectF paintLowCard(QPainter& painter, const QRectF& area, const QString& title, const Theme& theme, double factor) {
  constexpr double kTitle = 0.3;  // A share of the width.
  paintGround(painter, area, theme);
  const QRectF inside = area.adjusted(16, 4, -16, -4);
  painter.setFont(uiFont(static_cast<int>(13 * factor), QFont::DemiBold));
  painter.setPen(theme.text);
  painter.drawText(QRectF(inside.topLeft(), QSizeF(inside.width() * kTitle, inside.height())),
                   Qt::AlignLeft | Qt::AlignVCenter, title);
  return inside.adjusted(inside.width() * kTitle, 0, 0, 0);
}

QRectF paintCard(QPainter& painter, const QRectF& area, const CardWords& words, const Theme& theme, double factor) {
  paintGround(painter, area, theme);
  const QRectF inside = area.adjusted(16, 10, -16, -10);
  const QRectF heading(inside.left(), inside.top(), inside.width(), 20 * factor * textScale());
  const QFont claimFont = uiFont(static_cast<int>(12 * factor));
  const double claim = QFontMetricsF(claimFont).horizontalAdvance(words.claim);
  painter.setFont(uiFont(static_cast<int>(13 * factor), QFont::DemiBold));
  painter.setPen(theme.text);
  painter.drawText(
      heading, Qt::AlignLeft | Qt::AlignVCenter,
      painter.fontMetrics().elidedText(words.title, Qt::ElideRight, static_cast<int>(heading.width() - claim - 12)));
  painter.setFont(claimFont);
  painter.setPen(theme.textSoft);
  painter.drawText(heading, Qt::AlignRight | Qt::AlignVCenter, words.claim);
  return inside.adjusted(0, heading.height() + 6, 0, 0);
}

}  // namespace normlens::ui
