#include "ui/learn/live/price_curve.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>

#include "ui/learn/card_paint.h"
#include "ui/learn/live/cut_view.h"
#include "ui/session/words/format.h"
#include "ui/theme/theme.h"

namespace normlens::ui {

PriceCurve::PriceCurve(QWidget* parent) : ScaledPlot(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setAccessibleName(tr("What the best plan saves, by the price of a centering"));
}

void PriceCurve::setCurve(const std::vector<protocol::CutPoint>& points, bool measured) {
  points_ = points;
  measured_ = measured;
  update();
}

void PriceCurve::setPrice(double factor) {
  price_ = factor;
  update();
}

void PriceCurve::paintRegions(QPainter& painter, const QRectF& plot) const {
  const Theme theme = themeOf(this);
  const double end = points_.back().factor;
  const auto x = [&](double factor) { return plot.left() + factor / end * plot.width(); };
  for (size_t begin = 0; begin < points_.size();) {
    size_t next = begin;
    while (next < points_.size() && points_[next].freed == points_[begin].freed) ++next;
    // A number of norms holds up to half-way to the next price that was tried.
    const double low = begin == 0 ? 0 : (points_[begin - 1].factor + points_[begin].factor) / 2;
    const double high = next == points_.size() ? end : (points_[next - 1].factor + points_[next].factor) / 2;
    const QRectF region(x(low), plot.top(), x(high) - x(low), plot.height());
    const bool here = price_ >= low && price_ < high + (next == points_.size() ? 1 : 0);
    if (here) painter.fillRect(region, theme.goodBack);
    painter.setPen(QPen(theme.hairline, 1, Qt::DashLine));
    if (begin > 0) painter.drawLine(region.topLeft(), region.bottomLeft());
    painter.setPen(here ? theme.text : theme.textSoft);
    const QString words = points_[begin].freed > 0 ? tr("%1 freed").arg(points_[begin].freed) : tr("none pays");
    if (painter.fontMetrics().horizontalAdvance(words) < region.width())
      painter.drawText(region.adjusted(0, 2, 0, 0), Qt::AlignHCenter | Qt::AlignTop, words);
    begin = next;
  }
}

void PriceCurve::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const CardWords words{tr("Price of a centering"), tr("%1 × as it is").arg(formatNumber(price_, 3))};
  const QRectF inside = paintCard(painter, rect(), words, theme, factor());
  painter.setFont(uiFont(static_cast<int>(11 * factor())));
  if (points_.size() < 2) return;
  double most = 1e-12;
  for (const auto& point : points_) most = std::max(most, point.saved - point.paid);
  const QRectF plot = inside.adjusted(8, 20 * scale(), -8, -20 * scale());
  paintRegions(painter, plot);
  const double end = points_.back().factor;
  const auto at = [&](double factor, double net) {
    return QPointF(plot.left() + factor / end * plot.width(),
                   plot.bottom() - net / most * (plot.height() - 22 * scale()));
  };
  painter.setPen(theme.textSoft);
  painter.drawText(QRectF(inside.left() + 8, inside.top(), inside.width(), 18 * scale()),
                   Qt::AlignLeft | Qt::AlignVCenter,
                   tr("saved in each run, after paying; at most %1").arg(amountWords(most, measured_)));
  painter.setPen(QPen(theme.hairline, 1));
  painter.drawLine(plot.bottomLeft(), plot.bottomRight());
  painter.setPen(theme.textFaint);
  for (int factor = 0; factor <= static_cast<int>(end); ++factor) {
    painter.drawText(QRectF(at(factor, 0).x() - 40, plot.bottom() + 2, 80, 18 * scale()),
                     Qt::AlignHCenter | Qt::AlignTop, factor == 0 ? tr("free") : tr("%1×").arg(factor));
  }
  QPainterPath path(at(points_[0].factor, points_[0].saved - points_[0].paid));
  for (const auto& point : points_) path.lineTo(at(point.factor, point.saved - point.paid));
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme.linearLine, 2));
  painter.drawPath(path);
  painter.setPen(QPen(theme.accent, 1));
  const double x = at(price_, 0).x();
  painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()));
}

}  // namespace normlens::ui
