// Speed-up over the points of a sweep, with the bars of its intervals.
#include <QBarCategoryAxis>
#include <QCoreApplication>
#include <QLegendMarker>
#include <QLineSeries>
#include <QScatterSeries>
#include <algorithm>
#include <cmath>

#include "ui/charts/bench_charts.h"
#include "ui/charts/chart_style.h"
#include "ui/session/bench_text.h"

namespace normlens::ui {

namespace {

QString tr(const char* words) { return QCoreApplication::translate("BenchCharts", words); }

struct Speedup {
  QString category;
  std::optional<qint64> size;  // where the sweep is over sizes
  double median = 1, low = 1, high = 1;
};

// `over`: what a paper's series is over; empty: none is shown.
std::vector<Speedup> speedups(const protocol::BenchResult& result, const QString& over) {
  std::vector<Speedup> all;
  for (const protocol::BenchPoint& point : result.points) {
    if (!point.error.empty() || point.rounds.empty() || !point.b) continue;
    const auto size = over.isEmpty() ? std::nullopt : sizeOf(point, over);
    all.push_back({size ? QString::number(*size) : pointName(point), size, point.speedup, point.ci_low, point.ci_high});
  }
  return all;
}

// Places along the axis: sizes in order, the paper's among them, else the points as they come.
class Places {
 public:
  Places(const std::vector<Speedup>& now, const std::vector<Speedup>& earlier, const PaperSeries* paper) {
    for (const auto* list : {&now, &earlier}) {
      for (const Speedup& one : *list) add(one.category, one.size);
    }
    const bool bySize =
        std::all_of(all_.begin(), all_.end(), [](const auto& place) { return place.second.has_value(); });
    if (paper != nullptr && bySize) {
      for (const auto& [size, speedup] : paper->points) add(QString::number(size), size);
    }
    if (bySize) {
      std::sort(all_.begin(), all_.end(), [](const auto& a, const auto& b) { return *a.second < *b.second; });
    }
  }

  // -1: no such place.
  [[nodiscard]] int of(const QString& category) const {
    const auto found =
        std::find_if(all_.begin(), all_.end(), [&](const auto& place) { return place.first == category; });
    return found == all_.end() ? -1 : static_cast<int>(found - all_.begin());
  }
  [[nodiscard]] QStringList names() const {
    QStringList names;
    for (const auto& [name, size] : all_) names << name;
    return names;
  }

 private:
  void add(const QString& category, std::optional<qint64> size) {
    if (of(category) < 0) all_.emplace_back(category, size);
  }
  std::vector<std::pair<QString, std::optional<qint64>>> all_;
};

struct Axes {
  QAbstractAxis* x;
  QAbstractAxis* y;
};

QLineSeries* addLine(QChart& chart, const QString& name, const QPen& pen, const QList<QPointF>& points,
                     const Axes& axes) {
  auto* line = new QLineSeries(&chart);
  line->setName(name);
  line->setPen(pen);
  line->append(points);
  chart.addSeries(line);
  line->attachAxis(axes.x);
  line->attachAxis(axes.y);
  return line;
}

void addDots(QChart& chart, const QString& name, const QColor& color, const QList<QPointF>& points, const Axes& axes) {
  auto* dots = new QScatterSeries(&chart);
  dots->setName(name);
  dots->setColor(color);
  dots->setBorderColor(Qt::transparent);
  dots->setMarkerSize(8);
  dots->append(points);
  chart.addSeries(dots);
  dots->attachAxis(axes.x);
  dots->attachAxis(axes.y);
}

void hideInLegend(QChart& chart, QAbstractSeries* series) {
  for (QLegendMarker* marker : chart.legend()->markers(series)) marker->setVisible(false);
}

// An upright line from one end of an interval to the other; it goes with its series when that is hidden.
void addBars(QChart& chart, const QString& name, const QColor& color, const std::vector<Speedup>& values,
             const Places& places, const Axes& axes) {
  for (const Speedup& value : values) {
    if (!std::isfinite(value.high)) continue;
    const double x = places.of(value.category);
    auto* bar = addLine(chart, name, solidPen(color, 1.5), {{x, value.low}, {x, value.high}}, axes);
    hideInLegend(chart, bar);
  }
}

QList<QPointF> medians(const std::vector<Speedup>& values, const Places& places) {
  QList<QPointF> points;
  for (const Speedup& value : values) points << QPointF(places.of(value.category), value.median);
  std::sort(points.begin(), points.end(), [](const QPointF& a, const QPointF& b) { return a.x() < b.x(); });
  return points;
}

struct Range {
  double low = 1, high = 1;
  void hold(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

}  // namespace

void fillSpeedupChart(QChart& chart, const BenchPicture& picture, const Theme& theme) {
  const QString over = picture.paper != nullptr ? picture.paper->over : QString();
  const auto now = speedups(picture.result, over);
  const auto before = picture.earlier != nullptr ? speedups(*picture.earlier, over) : std::vector<Speedup>();
  const Places places(now, before, picture.paper);
  Range range;
  for (const auto* list : {&now, &before}) {
    for (const Speedup& value : *list) {
      for (const double edge : {value.low, value.median, value.high}) range.hold(edge);
    }
  }
  QList<QPointF> paper;
  if (picture.paper != nullptr) {
    for (const auto& [size, speedup] : picture.paper->points) {
      const int place = places.of(QString::number(size));
      if (place < 0) continue;
      paper << QPointF(place, speedup);
      range.hold(speedup);
    }
  }
  auto* x = new QBarCategoryAxis(&chart);
  x->append(places.names());
  const auto& first = picture.result.points.front();
  styleAxis(*x, theme, first.at.size() == 1 ? QString::fromStdString(first.at.front().first) : QString());
  chart.addAxis(x, Qt::AlignBottom);
  const double margin = std::max((range.high - range.low) * 0.1, 0.01);
  auto* y = addNumberAxis(chart, Qt::AlignLeft, std::max(0.0, range.low - margin), range.high + margin, tr("speed-up"),
                          theme);
  const Axes axes{x, y};
  const double last = static_cast<double>(places.names().size()) - 0.5;
  addLine(chart, tr("equally fast"), solidPen(theme.control, 1), {{-0.5, 1}, {last, 1}}, axes);
  if (!paper.isEmpty()) addLine(chart, picture.paper->label, dashedPen(referenceColor(theme)), paper, axes);
  if (!before.empty()) {
    addLine(chart, tr("earlier"), dashedPen(secondColor(theme)), medians(before, places), axes);
  }
  const QString name = tr("speed-up");
  if (now.size() > 1)
    hideInLegend(chart, addLine(chart, name, solidPen(secondColor(theme)), medians(now, places), axes));
  addBars(chart, name, secondColor(theme), now, places, axes);
  addDots(chart, name, secondColor(theme), medians(now, places), axes);
}

}  // namespace normlens::ui
