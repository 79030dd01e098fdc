#include "ui/widgets/plots/series_mark.h"

namespace normlens::ui {

namespace {

constexpr int kSeries = 4;
constexpr double kSize = 3;

}  // namespace

QColor seriesColor(int series, const Theme& theme) {
  const QColor colors[kSeries] = {theme.streamLine, theme.opaqueLine, theme.linearLine, theme.classes.centering};
  return colors[series % kSeries];
}

void paintSeriesMark(QPainter& painter, const QPointF& at, int series, const Theme& theme) {
  painter.setPen(Qt::NoPen);
  painter.setBrush(seriesColor(series, theme));
  const double far = kSize + 1;
  switch (series % kSeries) {
    case 0:
      painter.drawEllipse(at, kSize, kSize);
      break;
    case 1:
      painter.drawRect(QRectF(at.x() - kSize, at.y() - kSize, 2 * kSize, 2 * kSize));
      break;
    case 2:
      painter.drawPolygon(QPolygonF({at + QPointF(0, -far), at + QPointF(far, kSize), at + QPointF(-far, kSize)}));
      break;
    default:
      painter.drawPolygon(
          QPolygonF({at + QPointF(0, -far), at + QPointF(far, 0), at + QPointF(0, far), at + QPointF(-far, 0)}));
  }
}

}  // namespace normlens::ui
