#include "ui/models/bench_figures.h"

#include "ui/words/bench_text.h"

namespace normlens::ui {

namespace {

using Rows = std::vector<BenchFigure>;
using protocol::BenchPoint;

QString tr(const char* words) { return BenchFigures::tr(words); }

QString withReason(const QString& what, const std::string& reason) {
  return reason.empty() ? what : what + u' ' + asSentence(text(reason));
}

void addLatency(Rows& rows, const BenchPoint& point) {
  const auto add = [&](const QString& figure, double protocol::LatencyStats::*member, const QString& tip) {
    const auto say = [&](const protocol::BenchSide& side) { return QString::number(side.latency.*member, 'f', 3); };
    rows.push_back({figure, say(point.a), point.b ? say(*point.b) : QString(), tip});
  };
  add(tr("median, ms"), &protocol::LatencyStats::median_ms,
      tr("Median over the rounds. The speed-up is the ratio of the two medians."));
  add(tr("mean, ms"), &protocol::LatencyStats::mean_ms, tr("Mean of all runs, including disturbed ones."));
  add(tr("p5, ms"), &protocol::LatencyStats::p5_ms, tr("5 of 100 runs are faster."));
  add(tr("p95, ms"), &protocol::LatencyStats::p95_ms, tr("95 of 100 runs are faster."));
  add(tr("p99, ms"), &protocol::LatencyStats::p99_ms, tr("99 of 100 runs are faster."));
  add(tr("items / s"), &protocol::LatencyStats::throughput, tr("Batch items per second, by the median time."));
  rows.push_back({tr("tokens / s"), tokensOf(point.a), point.b ? tokensOf(*point.b) : QString(),
                  tr("Tokens per second, by the median time. Not known for images.")});
}

void addMemory(Rows& rows, const BenchPoint& point) {
  const protocol::BenchSide b = point.b.value_or(protocol::BenchSide());
  const auto second = [&](const QString& words) { return point.b ? words : QString(); };
  rows.push_back({tr("peak memory"), peakOf(point.a), second(peakOf(b)),
                  withReason(tr("The most memory that one run's tensors take at a time, without the weights."),
                             point.a.peak_reason)});
  rows.push_back({tr("time in norms"), normShareOf(point.a), second(normShareOf(b)),
                  withReason(tr("Share of the operators' time, measured with instrumentation."), point.a.ops_reason)});
  rows.push_back({tr("runtime"), text(point.a.runtime), second(text(b.runtime)),
                  isMixed(point) ? tr("Two runtimes: their speeds differ too, not only the models'.")
                                 : tr("The runtime that ran the models.")});
}

void addSpeedup(Rows& rows, const BenchPoint& point) {
  if (!point.b) return;
  const auto add = [&](const QString& name, const QString& figure, const QString& tip) {
    rows.push_back({name, figure, {}, tip, true});
  };
  add(tr("speed-up"),
      QStringLiteral("%1 (%2)").arg(formatRatio(point.speedup), formatInterval(point.ci_low, point.ci_high)),
      point.noise ? tr("The 95% interval contains 1: this difference is noise.")
                  : tr("The ratio of the medians, and its 95% interval."));
  if (point.expected_speedup) {
    add(tr("expected"), formatRatio(*point.expected_speedup),
        tr("Computed from the norms' share of A's time and their ticks in both models (paper 001, G.1.3)."));
  }
  if (point.outputs) {
    add(tr("outputs differ by"),
        tr("%1, limit %2").arg(formatError(point.outputs->max_rel), formatError(point.outputs->noise_floor)),
        tr("The largest relative difference of the outputs on this device, and the limit of rounding."));
  }
  if (!point.fold_ms) return;
  add(tr("fold time"), formatMilliseconds(*point.fold_ms), tr("How long folding took, once."));
  const qint64 runs = qRound64(point.break_even.value_or(0));
  add(tr("break-even"),
      !point.break_even ? tr("never")
      : runs == 1       ? tr("1 run")
                        : tr("%1 runs").arg(formatCount(runs)),
      tr("The number of runs after which the fold time pays off."));
}

BenchFigures::Columns columns(const BenchPoint* point) {
  const auto [a, b] = point != nullptr ? sideNames(*point) : QPair<QString, QString>();
  return {{point != nullptr ? tr("Figure") : QString(), {}, &BenchFigure::name},
          {a, a, &BenchFigure::a, {}, Qt::AlignRight},
          {b, b, &BenchFigure::b, {}, Qt::AlignRight}};
}

}  // namespace

BenchFigures::BenchFigures(QObject* parent)
    : RecordTable(columns(nullptr), {{Qt::ToolTipRole, &BenchFigure::tip}}, parent) {}

void BenchFigures::setPoint(const std::optional<BenchPoint>& point) {
  Rows rows;
  if (point && point->error.empty()) {
    addSpeedup(rows, *point);
    addLatency(rows, *point);
    addMemory(rows, *point);
  }
  setRows(std::move(rows), columns(point ? &*point : nullptr));
}

}  // namespace normlens::ui
