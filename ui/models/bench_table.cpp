#include "ui/models/bench_table.h"

#include "ui/words/bench_text.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

using protocol::BenchPoint;
using protocol::BenchSide;
using Say = std::function<QString(const BenchPoint&)>;

QString medianOfA(const BenchPoint& point) { return formatMedian(point.a.latency.median_ms); }
QString medianOfB(const BenchPoint& point) { return point.b ? formatMedian(point.b->latency.median_ms) : QString(); }
QString p95(const BenchSide& side) { return QString::number(side.latency.p95_ms, 'f', 3); }

// failed: the text for a point that has no figures.
RecordColumn<BenchPoint> figure(const QString& title, const QString& meaning, const Say& say,
                                const QString& failed = {}) {
  const auto shown = [=](const BenchPoint& point) { return point.error.empty() ? say(point) : failed; };
  return {title, meaning, shown, {}, Qt::AlignRight};
}

Say ofA(QString (*say)(const BenchSide&)) {
  return [say](const BenchPoint& point) { return say(point.a); };
}

Say ofB(QString (*say)(const BenchSide&)) {
  return [say](const BenchPoint& point) { return point.b ? say(*point.b) : QString(); };
}

QString expected(const BenchPoint& point) {
  return point.expected_speedup ? QString::number(*point.expected_speedup, 'f', 3) : QString();
}

QString fold(const BenchPoint& point) { return point.fold_ms ? formatMedian(*point.fold_ms) : QString(); }

QString speedup(const BenchPoint& point) { return point.b ? QString::number(point.speedup, 'f', 3) : QString(); }

QString interval(const BenchPoint& point) {
  if (!point.b) return {};
  const QString interval = formatInterval(point.ci_low, point.ci_high);
  return point.noise ? BenchTable::tr("%1, no clear gain").arg(interval) : interval;
}

QString breakEven(const BenchPoint& point) {
  return point.break_even ? formatCount(qRound64(*point.break_even)) : QString();
}

QString warning(const BenchPoint& point) {
  if (!point.error.empty()) return asSentence(text(point.error));
  return point.complete ? QString() : BenchTable::tr("Not complete: stopped, or still running.");
}

QString paperFigure(const BenchPoint& point, const std::optional<PaperSeries>& paper) {
  const auto size = paper ? sizeOf(point, paper->over) : std::nullopt;
  const auto known = size ? paper->at(*size) : std::nullopt;
  return known ? formatRatio(*known) : QString();
}

BenchTable::Columns columns(const std::optional<PaperSeries>& paper) {
  const auto tr = [](const char* words) { return BenchTable::tr(words); };
  return {
      {tr("Point"), tr("The varied setting and its value."), pointName},
      figure(tr("A, ms"), tr("Median time of one run of the first model."), medianOfA, tr("failed")),
      figure(tr("B, ms"), tr("Median time of one run of the second model."), medianOfB),
      figure(tr("Speed-up"), tr("A's median divided by B's."), speedup),
      figure(tr("95% interval"), tr("Bootstrap interval of the speed-up. No clear gain where it contains 1."),
             interval),
      figure(tr("Expected"), tr("Speed-up computed from the norms' share of A's time and their ticks in both models."),
             expected),
      figure(tr("A p95"), tr("95 of 100 runs of the first model are faster."), ofA(p95)),
      figure(tr("B p95"), tr("95 of 100 runs of the second model are faster."), ofB(p95)),
      figure(tr("A tokens / s"), tr("Tokens per second of the first model, by its median time."), ofA(tokensOf)),
      figure(tr("B tokens / s"), tr("Tokens per second of the second model, by its median time."), ofB(tokensOf)),
      figure(tr("A peak"), tr("The most memory that tensors of one run of the first model take at a time."),
             ofA(peakOf)),
      figure(tr("B peak"), tr("The most memory that tensors of one run of the second model take at a time."),
             ofB(peakOf)),
      figure(tr("A norms"), tr("Share of the first model's time in norms, measured with instrumentation."),
             ofA(normShareOf)),
      figure(tr("B norms"), tr("Share of the second model's time in norms, measured with instrumentation."),
             ofB(normShareOf)),
      figure(tr("Fold, ms"), tr("Fold time; where sizes vary, of a fold at these sizes."), fold),
      figure(tr("Break-even"), tr("Runs after which folding pays off."), breakEven),
      {paper ? paper->label : tr("Paper"),
       paper ? tr("Speed-up in the %1.").arg(paper->source)
             : tr("Select a paper under Compare with to see its figures."),
       [paper](const BenchPoint& point) { return paperFigure(point, paper); },
       {},
       Qt::AlignRight},
  };
}

}  // namespace

BenchTable::BenchTable(QObject* parent) : RecordTable(columns({}), {{Qt::ToolTipRole, warning}}, parent) {}

void BenchTable::setResult(const std::optional<protocol::BenchResult>& result,
                           const std::optional<PaperSeries>& paper) {
  setRows(result ? result->points : std::vector<BenchPoint>(), columns(paper));
}

}  // namespace normlens::ui
