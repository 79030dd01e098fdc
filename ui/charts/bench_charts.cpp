#include "ui/charts/bench_charts.h"

#include <QAreaSeries>
#include <QBarCategoryAxis>
#include <QBarSet>
#include <QCoreApplication>
#include <QHorizontalStackedBarSeries>
#include <QLegendMarker>
#include <QScatterSeries>
#include <algorithm>
#include <cmath>

#include "ui/charts/chart_style.h"
#include "ui/words/bench_text.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

QString tr(const char* words) { return QCoreApplication::translate("BenchCharts", words); }

struct Kind {
  const char* name;
  void (*fill)(QChart& chart, const BenchPicture& picture, const Theme& theme);
};

// Ordered as BenchChart.
constexpr Kind kKinds[] = {{"latency", fillLatencyChart},
                           {"distribution", fillDistributionChart},
                           {"speedup", fillSpeedupChart},
                           {"ops", fillOpsChart},
                           {"break_even", fillBreakEvenChart}};

bool measured(const protocol::BenchPoint& point) { return point.error.empty() && !point.rounds.empty(); }

bool anySpeedup(const protocol::BenchResult& result) {
  return std::any_of(result.points.begin(), result.points.end(),
                     [](const protocol::BenchPoint& point) { return measured(point) && point.b; });
}

constexpr int kBins = 40;
constexpr int kMostDots = 60;  // rounds of a line whose points are marked
constexpr double kMost =
    0.99;  // A share of the runs that lie below the axis' end: a few disturbed ones must not push it out.
constexpr double kDisturbed = 3;       // times the median
constexpr double kFewDisturbed = 0.1;  // A share of the rounds.

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
  return above == 1 ? tr("ms (1 round off the scale)") : tr("ms (%1 rounds off the scale)").arg(above);
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

// Names a point's position along the axis.
struct AxisPosition {
  QString category;
  std::optional<qint64> size;  // where the sweep is over sizes
};

struct Speedup {
  AxisPosition position;
  double median = 1, low = 1, high = 1;
};

struct Sweep {
  std::vector<Speedup> measured;
  std::vector<AxisPosition> failed;
};

// `over`: what a paper's series is over; empty: none is shown.
Sweep sweepOf(const protocol::BenchResult& result, const QString& over) {
  Sweep sweep;
  for (const protocol::BenchPoint& point : result.points) {
    const auto size = over.isEmpty() ? std::nullopt : sizeOf(point, over);
    const AxisPosition position{size ? QString::number(*size) : pointName(point), size};
    if (!point.error.empty()) {
      sweep.failed.push_back(position);
    } else if (!point.rounds.empty() && point.b) {
      sweep.measured.push_back({position, point.speedup, point.ci_low, point.ci_high});
    }
  }
  return sweep;
}

// Lists the positions along the axis: sizes in order, the paper's among them, else the points as they come.
class AxisPositions {
 public:
  AxisPositions(const Sweep& now, const Sweep& earlier, const PaperSeries* paper) {
    for (const auto* sweep : {&now, &earlier}) {
      for (const Speedup& one : sweep->measured) add(one.position);
    }
    for (const AxisPosition& position : now.failed) add(position);
    const bool bySize =
        std::all_of(all_.begin(), all_.end(), [](const AxisPosition& position) { return position.size.has_value(); });
    if (paper != nullptr && bySize) {
      for (const auto& [size, speedup] : paper->points) add({QString::number(size), size});
    }
    if (bySize) {
      std::sort(all_.begin(), all_.end(),
                [](const AxisPosition& a, const AxisPosition& b) { return *a.size < *b.size; });
    }
  }

  // -1: no such position.
  [[nodiscard]] int of(const QString& category) const {
    const auto found = std::find_if(all_.begin(), all_.end(),
                                    [&](const AxisPosition& position) { return position.category == category; });
    return found == all_.end() ? -1 : static_cast<int>(found - all_.begin());
  }
  [[nodiscard]] QStringList names() const {
    QStringList names;
    for (const AxisPosition& position : all_) names << position.category;
    return names;
  }

 private:
  void add(const AxisPosition& position) {
    if (of(position.category) < 0) all_.push_back(position);
  }
  std::vector<AxisPosition> all_;
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
             const AxisPositions& positions, const Axes& axes) {
  for (const Speedup& value : values) {
    if (!std::isfinite(value.high)) continue;
    const double x = positions.of(value.position.category);
    hideInLegend(chart, addLine(chart, axes, name, solidPen(color, 1.5), {{x, value.low}, {x, value.high}}));
  }
}

QList<QPointF> medians(const std::vector<Speedup>& values, const AxisPositions& positions) {
  QList<QPointF> points;
  for (const Speedup& value : values) points << QPointF(positions.of(value.position.category), value.median);
  std::sort(points.begin(), points.end(), [](const QPointF& a, const QPointF& b) { return a.x() < b.x(); });
  return points;
}

// Upon the axis: there is a position and nothing was measured there.
void addFailed(QChart& chart, const QColor& color, const std::vector<AxisPosition>& failed,
               const AxisPositions& positions, const QValueAxis& y, const Axes& axes) {
  QList<QPointF> points;
  for (const AxisPosition& position : failed) points << QPointF(positions.of(position.category), y.min());
  auto* marks = addDots(chart, axes, tr("failed"), color, points);
  marks->setMarkerShape(QScatterSeries::MarkerShapeTriangle);
  marks->setMarkerSize(10);
  marks->setProperty(kPlaceOnly, true);
}

struct SpeedupRange {
  double low = 1, high = 1;
  void hold(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

constexpr size_t kNamed = 4;  // ops other than norms that get a color of their own

QString shortOp(const std::string& op) { return text(op).section(u':', -1); }

struct Part {
  QString name;
  QColor color;
  double ms[2] = {0, 0};
};

// The longest ops of A name the parts of both bars.
std::vector<Part> partsOf(const std::vector<const protocol::BenchSide*>& sides, const Theme& theme) {
  const QColor colors[kNamed] = {theme.classes.residual, theme.classes.scalar, theme.classes.linear,
                                 theme.classes.centering};
  std::vector<Part> parts{{tr("norms"), theme.classes.chosen}};
  for (const protocol::OpShare& op : sides[0]->ops) {
    if (op.norm || parts.size() > kNamed) continue;
    parts.push_back({shortOp(op.op), colors[parts.size() - 1]});
  }
  Part rest{tr("other operators"), theme.control};
  for (size_t side = 0; side < sides.size(); ++side) {
    for (const protocol::OpShare& op : sides[side]->ops) {
      const auto named =
          std::find_if(parts.begin() + 1, parts.end(), [&](const Part& part) { return part.name == shortOp(op.op); });
      Part& part = op.norm ? parts.front() : named == parts.end() ? rest : *named;
      part.ms[side] += op.ms;
    }
  }
  parts.push_back(rest);
  return parts;
}

constexpr double kBeyond = 2;             // the axis ends at this many times the break-even
constexpr double kRunsWithoutOne = 1000;  // and here where there is none

}  // namespace

const protocol::BenchPoint* pointOf(const BenchPicture& picture) {
  const auto& points = picture.result.points;
  if (picture.point < 0 || static_cast<size_t>(picture.point) >= points.size()) return nullptr;
  const protocol::BenchPoint& point = points[static_cast<size_t>(picture.point)];
  return measured(point) ? &point : nullptr;
}

const protocol::BenchPoint* sameEarlier(const BenchPicture& picture) {
  const protocol::BenchPoint* now = pointOf(picture);
  if (now == nullptr || picture.earlier == nullptr) return nullptr;
  for (const protocol::BenchPoint& point : picture.earlier->points) {
    if (measured(point) && point.at == now->at) return &point;
  }
  return nullptr;
}

QString whyEmpty(BenchChart kind, const BenchPicture& picture) {
  const protocol::BenchPoint* point = pointOf(picture);
  if (kind == BenchChart::Speedup) {
    return anySpeedup(picture.result) ? QString() : tr("No two models have been measured together yet.");
  }
  if (point == nullptr) {
    const auto& points = picture.result.points;
    const bool there = picture.point >= 0 && static_cast<size_t>(picture.point) < points.size();
    const std::string error = there ? points[static_cast<size_t>(picture.point)].error : std::string();
    return error.empty() ? tr("Nothing has been measured here yet.") : asSentence(text(error));
  }
  if (kind == BenchChart::Ops && point->a.ops.empty()) {
    return point->a.ops_reason.empty() ? tr("The times of single operators appear after the last round.")
                                       : asSentence(text(point->a.ops_reason));
  }
  if (kind == BenchChart::BreakEven && (!point->fold_ms || !point->b)) {
    return tr("The fold time is known only for a model that was folded here.");
  }
  return {};
}

std::unique_ptr<QChart> makeBenchChart(BenchChart kind, const BenchPicture& picture, const Theme& theme) {
  auto chart = std::make_unique<QChart>();
  const Kind& row = kKinds[static_cast<size_t>(kind)];
  chart->setObjectName(QLatin1String(row.name));
  styleChart(*chart, theme);
  row.fill(*chart, picture, theme);
  return chart;
}

// ---- Latency over rounds, and the distribution of all runs

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

// ---- Speed-up over the points of a sweep, with the bars of its intervals

void fillSpeedupChart(QChart& chart, const BenchPicture& picture, const Theme& theme) {
  const QString over = picture.paper != nullptr ? picture.paper->over : QString();
  const Sweep now = sweepOf(picture.result, over);
  const Sweep before = picture.earlier != nullptr ? sweepOf(*picture.earlier, over) : Sweep();
  const AxisPositions positions(now, before, picture.paper);
  SpeedupRange range;
  for (const auto* sweep : {&now, &before}) {
    for (const Speedup& value : sweep->measured) {
      for (const double edge : {value.low, value.median, value.high}) range.hold(edge);
    }
  }
  QList<QPointF> paper;
  if (picture.paper != nullptr) {
    for (const auto& [size, speedup] : picture.paper->points) {
      const int at = positions.of(QString::number(size));
      if (at < 0) continue;
      paper << QPointF(at, speedup);
      range.hold(speedup);
    }
  }
  auto* x = new QBarCategoryAxis(&chart);
  x->append(positions.names());
  const auto& first = picture.result.points.front();
  styleAxis(*x, theme, first.at.size() == 1 ? QString::fromStdString(first.at.front().first) : QString());
  chart.addAxis(x, Qt::AlignBottom);
  const double margin = std::max((range.high - range.low) * 0.1, 0.01);
  auto* y = addNumberAxis(chart, Qt::AlignLeft, std::max(0.0, range.low - margin), range.high + margin, tr("speed-up"),
                          theme);
  const Axes axes{x, y};
  const double last = static_cast<double>(positions.names().size()) - 0.5;
  addLine(chart, axes, tr("equally fast"), solidPen(theme.control, 1), {{-0.5, 1}, {last, 1}});
  if (!paper.isEmpty()) addLine(chart, axes, picture.paper->label, dashedPen(referenceColor(theme)), paper);
  if (!before.measured.empty()) {
    addLine(chart, axes, tr("earlier"), dashedPen(secondColor(theme)), medians(before.measured, positions));
  }
  const QString name = tr("speed-up");
  if (now.measured.size() > 1) {
    hideInLegend(chart, addLine(chart, axes, name, solidPen(secondColor(theme)), medians(now.measured, positions)));
  }
  addBars(chart, name, secondColor(theme), now.measured, positions, axes);
  addDots(chart, axes, name, secondColor(theme), medians(now.measured, positions));
  if (!now.failed.empty()) addFailed(chart, theme.blocked, now.failed, positions, *y, axes);
}

// ---- Draws one bar a model, its time split into norms, the longest other ops and the rest

void fillOpsChart(QChart& chart, const BenchPicture& picture, const Theme& theme) {
  const protocol::BenchPoint& point = *pointOf(picture);
  std::vector<const protocol::BenchSide*> sides{&point.a};
  const auto [nameA, nameB] = sideNames(point);
  QStringList names{nameA};
  if (point.b && !point.b->ops.empty()) {
    sides.push_back(&*point.b);
    names << nameB;
  }
  auto* bars = new QHorizontalStackedBarSeries(&chart);
  bars->setBarWidth(0.6);
  double longest[2] = {0, 0};
  for (const Part& part : partsOf(sides, theme)) {
    auto* set = new QBarSet(part.name, bars);
    // The first category is the lowest bar.
    for (size_t side = sides.size(); side-- > 0;) {
      *set << part.ms[side];
      longest[side] += part.ms[side];
    }
    set->setColor(part.color);
    set->setBorderColor(theme.panel);
    bars->append(set);
  }
  std::reverse(names.begin(), names.end());
  chart.addSeries(bars);
  auto* y = new QBarCategoryAxis(&chart);
  y->append(names);
  styleAxis(*y, theme, {});
  y->setGridLineVisible(false);
  chart.addAxis(y, Qt::AlignLeft);
  auto* x = addNumberAxis(chart, Qt::AlignBottom, 0, std::max(longest[0], longest[1]) * 1.02,
                          tr("ms, with instrumentation"), theme);
  bars->attachAxis(y);
  bars->attachAxis(x);
}

// ---- negative at first, since folding itself took time

void fillBreakEvenChart(QChart& chart, const BenchPicture& picture, const Theme& theme) {
  const protocol::BenchPoint& point = *pointOf(picture);
  const double saved = point.a.latency.median_ms - point.b->latency.median_ms, fold = *point.fold_ms;
  const double paper = picture.paperFold != nullptr ? *picture.paperFold->breakEven : 0;
  const double crossing = std::max(point.break_even.value_or(0), paper);
  const double runs = crossing > 0 ? std::max(2.0, kBeyond * crossing) : kRunsWithoutOne;
  const double end = saved * runs - fold;
  const double low = std::min(-fold, end) * 1.05, high = std::max({end * 1.05, -low * 0.1});
  const Axes axes{addNumberAxis(chart, Qt::AlignBottom, 0, runs, tr("runs"), theme),
                  addNumberAxis(chart, Qt::AlignLeft, low, high, tr("saved, ms"), theme)};
  const auto add = [&](const QString& name, const QPen& pen, const QList<QPointF>& points) {
    addLine(chart, axes, name, pen, points);
  };
  add(tr("nothing saved"), solidPen(theme.control, 1), {{0, 0}, {runs, 0}});
  add(tr("saved by folding"), solidPen(secondColor(theme)), {{0, -fold}, {runs, end}});
  if (point.break_even) {
    const QString count = formatCount(qRound64(*point.break_even));
    add(tr("break-even after %1 runs").arg(count), dashedPen(theme.good),
        {{*point.break_even, low}, {*point.break_even, high}});
  }
  if (paper > 0) {
    add(tr("%1: %2 runs").arg(picture.paperFold->label, formatNumber(paper, 4)), dashedPen(referenceColor(theme)),
        {{paper, low}, {paper, high}});
  }
}

}  // namespace normlens::ui
