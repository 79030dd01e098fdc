// Draws the time that folding has saved after a number of runs: negative at first, since folding itself took time.
#include <QCoreApplication>
#include <algorithm>

#include "ui/charts/bench_charts.h"
#include "ui/charts/chart_style.h"
#include "ui/session/words/format.h"

namespace normlens::ui {

namespace {

QString tr(const char* words) { return QCoreApplication::translate("BenchCharts", words); }

constexpr double kBeyond = 2;             // the axis ends at this many times the break-even
constexpr double kRunsWithoutOne = 1000;  // and here where there is none

}  // namespace

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
    add(tr("paid for after %1 runs").arg(count), dashedPen(theme.good),
        {{*point.break_even, low}, {*point.break_even, high}});
  }
  if (paper > 0) {
    add(tr("%1: %2 runs").arg(picture.paperFold->label, formatNumber(paper, 4)), dashedPen(referenceColor(theme)),
        {{paper, low}, {paper, high}});
  }
}

}  // namespace normlens::ui
