// The three pictures of the welcome page.
#include <QPainter>
#include <QPainterPath>
#include <array>

#include "ui/theme/icons.h"
#include "ui/window/workspace/welcome_cards.h"

namespace normlens::ui {

// Three norms on a stream, each with its verdict.
void paintOpen(QPainter& painter, const Theme& theme) {
  painter.setPen(QPen(theme.textSoft, 1.4));
  painter.drawLine(QPointF(2, 0), QPointF(2, 74));
  for (int i = 0; i < 3; ++i) {
    const double y = 5 + 24.0 * i;
    QPainterPath branch(QPointF(2, y));
    branch.cubicTo(12, y, 16, y + 8, 34, y + 8);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.textSoft, 1.4));
    painter.drawPath(branch);
    painter.setPen(QPen(i == 1 ? theme.classes.chosen : theme.textSoft, i == 1 ? 2 : 1.4));
    painter.setBrush(theme.panel);
    painter.drawRoundedRect(QRectF(34, y, 76, 16), 4, 4);
    const bool folds = i < 2;
    paintIcon(painter, QRectF(122, y, 16, 16), folds ? QStringLiteral("free") : QStringLiteral("blocked"),
              folds ? theme.good : theme.blocked);
  }
}

// Column means, before and after the mean is taken away.
void paintFold(QPainter& painter, const Theme& theme) {
  constexpr std::array before{4.0, 15.0, -2.0, 19.0, 7.0, 24.0, 2.0};
  constexpr std::array after{-6.0, 6.0, -12.0, 10.0, -3.0, 14.0, -8.0};
  constexpr double zero = 38;
  const auto bars = [&](double left, const auto& heights, const QColor& color) {
    painter.setPen(QPen(theme.textFaint, 1.2, Qt::DashLine));
    painter.drawLine(QPointF(left - 4, zero), QPointF(left + 82, zero));
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    for (size_t i = 0; i < heights.size(); ++i) {
      const double height = heights[i];
      painter.drawRect(
          QRectF(left + 11.5 * static_cast<double>(i), height > 0 ? zero - height : zero, 7, std::abs(height)));
    }
  };
  bars(4, before, theme.classes.chosen);
  paintIcon(painter, QRectF(97, zero - 7, 14, 14), QStringLiteral("chevron_right"), theme.text);
  bars(124, after, theme.linearLine);
}

// Two latencies over time, one below the other.
void paintMeasure(QPainter& painter, const Theme& theme) {
  painter.setPen(QPen(theme.textSoft, 1.4));
  painter.drawPolyline(QPolygonF({{2, 2}, {2, 72}, {162, 72}}));
  const auto line = [&](double base, const QColor& color) {
    constexpr std::array wiggle{0.0, 4.0, -3.0, -2.0, 4.0, -1.0, 3.0, -2.0, -3.0, 3.0, 0.0, -3.0};
    QPolygonF points;
    for (size_t i = 0; i < wiggle.size(); ++i) points << QPointF(10 + 13.0 * static_cast<double>(i), base + wiggle[i]);
    painter.setPen(QPen(color, 1.8, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    painter.drawPolyline(points);
  };
  line(23, theme.textFaint);
  line(53, theme.accentText);
}

}  // namespace normlens::ui
