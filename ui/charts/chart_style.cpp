#include "ui/charts/chart_style.h"

#include <QGraphicsLayout>
#include <QLegend>
#include <QLocale>
#include <cmath>

namespace normlens::ui {

namespace {

constexpr int kTicks = 5;

// 1, 2 or 5 times a power of ten, no smaller than `step`.
double roundStep(double step) {
  const double power = std::pow(10, std::floor(std::log10(step)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (times * power >= step * (1 - 1e-9)) return times * power;
  }
  return 10 * power;
}

}  // namespace

QColor firstColor(const Theme& theme) { return theme.textFaint; }
QColor secondColor(const Theme& theme) { return theme.accentText; }
QColor referenceColor(const Theme& theme) { return theme.classes.centering; }

QPen solidPen(const QColor& color, double width) {
  QPen pen(color, width);
  pen.setCosmetic(true);
  return pen;
}

QPen dashedPen(const QColor& color, double width) {
  QPen pen = solidPen(color, width);
  pen.setStyle(Qt::DashLine);
  return pen;
}

void addSeries(QChart& chart, const Axes& axes, QAbstractSeries* series, const QString& name) {
  series->setName(name);
  chart.addSeries(series);
  series->attachAxis(axes.x);
  series->attachAxis(axes.y);
}

QLineSeries* addLine(QChart& chart, const Axes& axes, const QString& name, const QPen& pen,
                     const QList<QPointF>& points) {
  auto* line = new QLineSeries;
  line->setPen(pen);
  line->append(points);
  addSeries(chart, axes, line, name);
  return line;
}

void styleChart(QChart& chart, const Theme& theme) {
  chart.setAnimationOptions(QChart::NoAnimation);
  QLocale plain = QLocale::c();  // "1e-8" at the ticks, as everywhere
  plain.setNumberOptions(QLocale::OmitGroupSeparator | QLocale::OmitLeadingZeroInExponent);
  chart.setLocale(plain);
  chart.setLocalizeNumbers(true);
  chart.setBackgroundRoundness(0);
  chart.setBackgroundBrush(theme.panel);
  chart.setBackgroundPen(Qt::NoPen);
  chart.setPlotAreaBackgroundVisible(false);
  chart.setMargins({8, 4, 4, 0});
  chart.layout()->setContentsMargins(0, 0, 0, 0);
  QLegend* legend = chart.legend();
  legend->setAlignment(Qt::AlignTop);
  legend->setFont(uiFont(11));
  legend->setLabelColor(theme.textSoft);
  legend->setMarkerShape(QLegend::MarkerShapeFromSeries);
  legend->setShowToolTips(true);
}

void styleAxis(QAbstractAxis& axis, const Theme& theme, const QString& title) {
  axis.setLabelsFont(uiFont(11));
  axis.setLabelsColor(theme.textSoft);
  axis.setTitleFont(uiFont(11));
  axis.setTitleBrush(theme.textSoft);
  axis.setTitleText(title);
  axis.setLinePen(QPen(theme.control, 1));
  axis.setGridLinePen(QPen(theme.hairline, 1));
}

QValueAxis* addNumberAxis(QChart& chart, Qt::Alignment side, double low, double high, const QString& title,
                          const Theme& theme) {
  auto* axis = new QValueAxis(&chart);
  if (high <= low) high = low + std::max(std::abs(low) * 0.1, 1e-6);
  const double step = roundStep((high - low) / kTicks);
  axis->setTickType(QValueAxis::TicksDynamic);
  axis->setTickAnchor(0);
  axis->setTickInterval(step);
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
  constexpr int kMostDecimals = 4;
  axis->setLabelFormat(decimals > kMostDecimals ? QStringLiteral("%.3g") : QStringLiteral("%.%1f").arg(decimals));
  axis->setRange(low, high);
  axis->setTruncateLabels(false);  // In a low chart each would be "..."; those without room are hidden already.
  styleAxis(*axis, theme, title);
  chart.addAxis(axis, side);
  return axis;
}

}  // namespace normlens::ui
