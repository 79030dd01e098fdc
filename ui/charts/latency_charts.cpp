// Latency over rounds, and the distribution of all runs.
#include <QAreaSeries>
#include <QCoreApplication>
#include <algorithm>
#include <cmath>

#include "ui/charts/bench_charts.h"
#include "ui/charts/chart_style.h"
#include "ui/session/words/bench_text.h"

namespace normlens::ui {

namespace {

QString tr(const char* words) { return QCoreApplication::translate("BenchCharts", words); }

constexpr int kBins = 40;
constexpr int kMostDots = 60;          // rounds of a line whose points are marked
constexpr double kMost = 0.99;         // of the runs lie below the axis' end: a few disturbed ones must not push it out
constexpr double kDisturbed = 3;       // times the median
constexpr double kFewDisturbed = 0.1;  // of the rounds

QList<QPointF> rounds(const protocol::BenchPoint& point, double std::pair<double, double>::*side) {
  QList<QPointF> points;
  for (size_t i = 0; i < point.rounds.size(); ++i) points << QPointF(static_cast<double>(i + 1), point.rounds[i].*side);
  return points;
}

struct Range {
  double low, high;
};

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1))];
}

// Above which a line's rounds were disturbed by something else: where these are few, they do not squeeze the others.
double undisturbed(const QList<QPointF>& line) {
  std::vector<double> values;
  for (const QPointF& point : line) values.push_back(point.y());
  const double limit = kDisturbed * quantile(values, 0.5);
  return quantile(values, 1 - kFewDisturbed) <= limit ? limit : quantile(values, 1);
}

// Returns the range of the values without those of disturbed rounds, a little widened.
Range rangeOf(const QList<QList<QPointF>>& lines) {
  Range range{1e300, -1e300};
  for (const auto& line : lines) {
    const double limit = line.isEmpty() ? 0 : undisturbed(line);
    for (const QPointF& point : line) {
      range.low = std::min(range.low, point.y());
      if (point.y() <= limit) range.high = std::max(range.high, point.y());
    }
  }
  const double margin = std::max((range.high - range.low) * 0.08, range.high * 0.005);
  return {std::max(0.0, range.low - margin), range.high + margin};
}

// "ms", and how many of the rounds the axis leaves out.
QString latencyTitle(const QList<QList<QPointF>>& lines, const Range& range) {
  qsizetype above = 0;
  for (const auto& line : lines) {
    above += std::count_if(line.begin(), line.end(), [&](const QPointF& point) { return point.y() > range.high; });
  }
  if (above == 0) return tr("ms");
  return above == 1 ? tr("ms (1 round above)") : tr("ms (%1 rounds above)").arg(above);
}

// The outline of a histogram over [low, high], as steps.
QList<QPointF> histogram(const std::vector<double>& values, const Range& range) {
  std::vector<int> counts(kBins, 0);
  const double width = (range.high - range.low) / kBins;
  for (const double value : values) {
    const double bin = (value - range.low) / width;
    if (bin >= 0 && bin < kBins) ++counts[static_cast<size_t>(bin)];
  }
  QList<QPointF> outline;
  for (int i = 0; i < kBins; ++i) {
    outline << QPointF(range.low + i * width, counts[static_cast<size_t>(i)])
            << QPointF(range.low + (i + 1) * width, counts[static_cast<size_t>(i)]);
  }
  return outline;
}

void addHistogram(QChart& chart, const Axes& axes, const QString& name, const QColor& color,
                  const QList<QPointF>& outline) {
  auto* upper = new QLineSeries;
  upper->append(outline);
  auto* area = new QAreaSeries(upper);
  upper->setParent(area);
  QColor fill = color;
  fill.setAlpha(70);
  area->setBrush(fill);
  area->setPen(solidPen(color, 1.5));
  addSeries(chart, axes, area, name);
}

// The folded model of an earlier run.
void addEarlier(QChart& chart, const Axes& axes, const protocol::BenchPoint& earlier, const Theme& theme,
                const QList<QPointF>& points) {
  addLine(chart, axes, tr("%1, earlier").arg(sideNames(earlier).second), dashedPen(secondColor(theme)), points);
}

double highest(const QList<QList<QPointF>>& lines) {
  double most = 1;
  for (const auto& line : lines) {
    for (const QPointF& point : line) most = std::max(most, point.y());
  }
  return most;
}

}  // namespace

void fillLatencyChart(QChart& chart, const BenchPicture& picture, const Theme& theme) {
  const protocol::BenchPoint& point = *pointOf(picture);
  const protocol::BenchPoint* earlier = sameEarlier(picture);
  QList<QList<QPointF>> lines{rounds(point, &std::pair<double, double>::first)};
  if (point.b) lines << rounds(point, &std::pair<double, double>::second);
  if (earlier != nullptr) lines << rounds(*earlier, &std::pair<double, double>::second);
  const Range range = rangeOf(lines);
  double last = 2;
  for (const auto& line : lines) last = std::max(last, static_cast<double>(line.size()));
  const Axes axes{addNumberAxis(chart, Qt::AlignBottom, 1, last, tr("round"), theme),
                  addNumberAxis(chart, Qt::AlignLeft, range.low, range.high, latencyTitle(lines, range), theme)};
  const auto [nameA, nameB] = sideNames(point);
  const auto add = [&](const QString& name, const QColor& color, const QList<QPointF>& points) {
    addLine(chart, axes, name, solidPen(color), points)->setPointsVisible(points.size() <= kMostDots);
  };
  add(nameA, firstColor(theme), lines[0]);
  if (point.b) add(nameB, secondColor(theme), lines[1]);
  if (earlier != nullptr && earlier->b) addEarlier(chart, axes, *earlier, theme, lines.last());
}

void fillDistributionChart(QChart& chart, const BenchPicture& picture, const Theme& theme) {
  const protocol::BenchPoint& point = *pointOf(picture);
  const protocol::BenchPoint* earlier = sameEarlier(picture);
  std::vector<const protocol::BenchSide*> sides{&point.a};
  if (point.b) sides.push_back(&*point.b);
  if (earlier != nullptr && earlier->b) sides.push_back(&*earlier->b);
  Range range{1e300, 0};
  for (const auto* side : sides) {
    if (side->samples_ms.empty()) continue;
    range.low = std::min(range.low, quantile(side->samples_ms, 0));
    range.high = std::max(range.high, quantile(side->samples_ms, kMost));
  }
  range.high += std::max((range.high - range.low) * 0.02, range.high * 1e-3);
  QList<QList<QPointF>> outlines;
  for (const auto* side : sides) outlines << histogram(side->samples_ms, range);
  const Axes axes{addNumberAxis(chart, Qt::AlignBottom, range.low, range.high, tr("ms"), theme),
                  addNumberAxis(chart, Qt::AlignLeft, 0, highest(outlines) * 1.05, tr("runs"), theme)};
  const auto [nameA, nameB] = sideNames(point);
  addHistogram(chart, axes, nameA, firstColor(theme), outlines[0]);
  if (point.b) addHistogram(chart, axes, nameB, secondColor(theme), outlines[1]);
  if (earlier != nullptr && earlier->b) addEarlier(chart, axes, *earlier, theme, outlines.last());
}

}  // namespace normlens::ui
