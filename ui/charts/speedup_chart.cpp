// Speed-up over the points of a sweep, with the bars of its intervals.
#include <QBarCategoryAxis>
#include <QCoreApplication>
#include <QLegendMarker>
#include <QScatterSeries>
#include <algorithm>
#include <cmath>

#include "ui/charts/bench_charts.h"
#include "ui/charts/chart_style.h"
#include "ui/session/words/bench_text.h"

namespace normlens::ui {

namespace {

QString tr(const char* words) { return QCoreApplication::translate("BenchCharts", words); }

// Names a point's position along the axis.
struct Place {
  QString category;
  std::optional<qint64> size;  // where the sweep is over sizes
};

struct Speedup {
  Place place;
  double median = 1, low = 1, high = 1;
};

struct Sweep {
  std::vector<Speedup> measured;
  std::vector<Place> failed;
};

// `over`: what a paper's series is over; empty: none is shown.
Sweep sweepOf(const protocol::BenchResult& result, const QString& over) {
  Sweep sweep;
  for (const protocol::BenchPoint& point : result.points) {
    const auto size = over.isEmpty() ? std::nullopt : sizeOf(point, over);
    const Place place{size ? QString::number(*size) : pointName(point), size};
    if (!point.error.empty()) {
      sweep.failed.push_back(place);
    } else if (!point.rounds.empty() && point.b) {
      sweep.measured.push_back({place, point.speedup, point.ci_low, point.ci_high});
    }
  }
  return sweep;
}

// Places along the axis: sizes in order, the paper's among them, else the points as they come.
class Places {
 public:
  Places(const Sweep& now, const Sweep& earlier, const PaperSeries* paper) {
    for (const auto* sweep : {&now, &earlier}) {
      for (const Speedup& one : sweep->measured) add(one.place);
    }
    for (const Place& place : now.failed) add(place);
    const bool bySize =
        std::all_of(all_.begin(), all_.end(), [](const Place& place) { return place.size.has_value(); });
    if (paper != nullptr && bySize) {
      for (const auto& [size, speedup] : paper->points) add({QString::number(size), size});
    }
    if (bySize) {
      std::sort(all_.begin(), all_.end(), [](const Place& a, const Place& b) { return *a.size < *b.size; });
    }
  }

  // -1: no such place.
  [[nodiscard]] int of(const QString& category) const {
    const auto found =
        std::find_if(all_.begin(), all_.end(), [&](const Place& place) { return place.category == category; });
    return found == all_.end() ? -1 : static_cast<int>(found - all_.begin());
  }
  [[nodiscard]] QStringList names() const {
    QStringList names;
    for (const Place& place : all_) names << place.category;
    return names;
  }

 private:
  void add(const Place& place) {
    if (of(place.category) < 0) all_.push_back(place);
  }
  std::vector<Place> all_;
};

QScatterSeries* addDots(QChart& chart, const Axes& axes, const QString& name, const QColor& color,
                        const QList<QPointF>& points) {
  auto* dots = new QScatterSeries;
  dots->setColor(color);
  dots->setBorderColor(Qt::transparent);
  dots->setMarkerSize(8);
  dots->append(points);
  addSeries(chart, axes, dots, name);
  return dots;
}

void hideInLegend(QChart& chart, QAbstractSeries* series) {
  for (QLegendMarker* marker : chart.legend()->markers(series)) marker->setVisible(false);
}

// An upright line from one end of an interval to the other; it goes with its series when that is hidden.
void addBars(QChart& chart, const QString& name, const QColor& color, const std::vector<Speedup>& values,
             const Places& places, const Axes& axes) {
  for (const Speedup& value : values) {
    if (!std::isfinite(value.high)) continue;
    const double x = places.of(value.place.category);
    hideInLegend(chart, addLine(chart, axes, name, solidPen(color, 1.5), {{x, value.low}, {x, value.high}}));
  }
}

QList<QPointF> medians(const std::vector<Speedup>& values, const Places& places) {
  QList<QPointF> points;
  for (const Speedup& value : values) points << QPointF(places.of(value.place.category), value.median);
  std::sort(points.begin(), points.end(), [](const QPointF& a, const QPointF& b) { return a.x() < b.x(); });
  return points;
}

// Upon the axis: there is a place and nothing was measured there.
void addFailed(QChart& chart, const QColor& color, const std::vector<Place>& failed, const Places& places,
               const QValueAxis& y, const Axes& axes) {
  QList<QPointF> points;
  for (const Place& place : failed) points << QPointF(places.of(place.category), y.min());
  auto* marks = addDots(chart, axes, tr("failed"), color, points);
  marks->setMarkerShape(QScatterSeries::MarkerShapeTriangle);
  marks->setMarkerSize(10);
  marks->setProperty(kPlaceOnly, true);
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
  const Sweep now = sweepOf(picture.result, over);
  const Sweep before = picture.earlier != nullptr ? sweepOf(*picture.earlier, over) : Sweep();
  const Places places(now, before, picture.paper);
  Range range;
  for (const auto* sweep : {&now, &before}) {
    for (const Speedup& value : sweep->measured) {
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
  addLine(chart, axes, tr("equally fast"), solidPen(theme.control, 1), {{-0.5, 1}, {last, 1}});
  if (!paper.isEmpty()) addLine(chart, axes, picture.paper->label, dashedPen(referenceColor(theme)), paper);
  if (!before.measured.empty()) {
    addLine(chart, axes, tr("earlier"), dashedPen(secondColor(theme)), medians(before.measured, places));
  }
  const QString name = tr("speed-up");
  if (now.measured.size() > 1) {
    hideInLegend(chart, addLine(chart, axes, name, solidPen(secondColor(theme)), medians(now.measured, places)));
  }
  addBars(chart, name, secondColor(theme), now.measured, places, axes);
  addDots(chart, axes, name, secondColor(theme), medians(now.measured, places));
  if (!now.failed.empty()) addFailed(chart, theme.blocked, now.failed, places, *y, axes);
}

}  // namespace normlens::ui
