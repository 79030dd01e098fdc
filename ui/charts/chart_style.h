// Gives all charts of the window one style: the theme's colors and fonts, hairline grids, no frames. The two models of
// a measurement are gray and the accent, which differ in lightness as well; references are dashed. Thread: GUI thread.
#pragma once

#include <QChart>
#include <QLineSeries>
#include <QPen>
#include <QValueAxis>

#include "ui/theme/theme.h"

namespace normlens::ui {

// These return the colors of the first model, of the second, and of figures that others measured.
[[nodiscard]] QColor firstColor(const Theme& theme);
[[nodiscard]] QColor secondColor(const Theme& theme);
[[nodiscard]] QColor referenceColor(const Theme& theme);
[[nodiscard]] QPen solidPen(const QColor& color, double width = 2);
[[nodiscard]] QPen dashedPen(const QColor& color, double width = 1.5);

// Property of a series whose points mark places and have no value to show.
inline constexpr const char* kPlaceOnly = "placeOnly";

// Names the two axes that a series is drawn over.
struct Axes {
  QAbstractAxis* x;
  QAbstractAxis* y;
};
// The chart takes the series.
void addSeries(QChart& chart, const Axes& axes, QAbstractSeries* series, const QString& name);
QLineSeries* addLine(QChart& chart, const Axes& axes, const QString& name, const QPen& pen,
                     const QList<QPointF>& points);

// Background, margins, legend. Call before the axes are made.
void styleChart(QChart& chart, const Theme& theme);
void styleAxis(QAbstractAxis& axis, const Theme& theme, const QString& title);
// An axis of numbers with round ticks that holds [low, high]; added to the chart. The chart owns it.
QValueAxis* addNumberAxis(QChart& chart, Qt::Alignment side, double low, double high, const QString& title,
                          const Theme& theme);

}  // namespace normlens::ui
