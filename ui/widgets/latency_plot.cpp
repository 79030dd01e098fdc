#include "ui/widgets/latency_plot.h"

#include <QPainter>
#include <algorithm>

#include "ui/session/format.h"
#include "ui/theme/theme.h"

namespace normlens::ui {

namespace {

constexpr int kLeft = 72, kRight = 20, kBand = 18;
constexpr double kFarthest = 2.5;  // the axis ends at this many times the slower median

struct Axis {
  double low = 0, high = 1, left = 0, right = 1;
  [[nodiscard]] double at(double value) const { return left + (value - low) / (high - low) * (right - left); }
};

void paintRow(QPainter& painter, const Axis& axis, double middle, const QString& name,
              const protocol::LatencyStats& stats, const QColor& color, const Theme& theme) {
  painter.setFont(uiFont(12));
  painter.setPen(theme.textSoft);
  painter.drawText(QRectF(0, middle - 10, kLeft - 12, 20), Qt::AlignRight | Qt::AlignVCenter, name);
  QColor band = color;
  band.setAlpha(theme.dark ? 80 : 50);
  const bool cut = stats.p95_ms > axis.high;
  const double left = axis.at(stats.p5_ms);
  const double right = std::max(axis.at(std::min(stats.p95_ms, axis.high)), left + 2);
  painter.setPen(Qt::NoPen);
  painter.setBrush(band);
  painter.drawRoundedRect(QRectF(left, middle - kBand / 2.0, right - left, kBand), 3, 3);
  if (cut) {
    painter.setFont(uiFont(11));
    painter.setPen(theme.textSoft);
    painter.drawText(QRectF(right - 160, middle - kBand / 2.0, 154, kBand), Qt::AlignVCenter | Qt::AlignRight,
                     LatencyPlot::tr("p95 %1 →").arg(formatMilliseconds(stats.p95_ms)));
  }
  painter.setPen(QPen(color, 3, Qt::SolidLine, Qt::FlatCap));
  const double median = axis.at(stats.median_ms);
  painter.drawLine(QPointF(median, middle - kBand / 2.0 - 3), QPointF(median, middle + kBand / 2.0 + 3));
  painter.setFont(monoFont(11));
  painter.setPen(theme.text);
  painter.drawText(QRectF(median - 60, middle - kBand / 2.0 - 20, 120, 16), Qt::AlignCenter,
                   formatMilliseconds(stats.median_ms));
}

}  // namespace

LatencyPlot::LatencyPlot(QWidget* parent) : QWidget(parent) {
  setMinimumSize(260, 130);
  setToolTip(tr("Band: 5th to 95th percentile of the rounds; tick: median. Rounds of the two models alternate."));
  setAccessibleName(tr("Latency of the original and the folded model"));
}

void LatencyPlot::setResult(const std::optional<protocol::BenchResult>& result) {
  result_ = result;
  update();
}

void LatencyPlot::paintEvent(QPaintEvent*) {
  if (!result_) return;
  const Theme theme = themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const auto& a = result_->original;
  const auto& b = result_->folded;
  const double low = std::min({a.p5_ms, b.p5_ms, a.median_ms, b.median_ms});
  // A few rounds that were disturbed must not push everything else to the edge.
  const double slowest = std::max(a.median_ms, b.median_ms);
  const double high = std::min(std::max({a.p95_ms, b.p95_ms, slowest}), kFarthest * slowest);
  const double margin = std::max((high - low) * 0.15, high * 0.01 + 1e-9);
  const Axis axis{std::max(0.0, low - margin), high + margin, kLeft, static_cast<double>(width() - kRight)};
  const double bottom = height() - 24.0;
  painter.setFont(uiFont(11));
  for (int i = 0; i <= 4; ++i) {
    const double value = axis.low + (axis.high - axis.low) * i / 4;
    const double x = axis.at(value);
    painter.setPen(QPen(theme.hairline, 1));
    painter.drawLine(QPointF(x, 6), QPointF(x, bottom));
    painter.setPen(theme.textFaint);
    painter.drawText(QRectF(x - 40, bottom + 3, 80, 16), Qt::AlignCenter, formatNumber(value, 3));
  }
  paintRow(painter, axis, 6 + (bottom - 6) * 0.32, tr("original"), a, theme.textFaint, theme);
  paintRow(painter, axis, 6 + (bottom - 6) * 0.78, tr("folded"), b, theme.accentText, theme);
}

}  // namespace normlens::ui
