#include "ui/models/bench_export.h"

#include <QCoreApplication>
#include <QStringList>
#include <cmath>

#include "ui/models/table_text.h"
#include "ui/words/bench_text.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

QString tr(const char* words) { return QCoreApplication::translate("BenchExport", words); }

QString number(double value) { return std::isfinite(value) ? QString::number(value, 'g', 7) : formatNumber(value, 7); }

template <class Value>
QString known(const std::optional<Value>& value) {
  return value ? number(static_cast<double>(*value)) : QString();
}

// Returns the fields in the order of sideHeads.
QStringList sideFields(const protocol::BenchSide& side) {
  const protocol::LatencyStats& latency = side.latency;
  return {sideName(side.model),
          text(side.runtime),
          number(latency.median_ms),
          number(latency.mean_ms),
          number(latency.p5_ms),
          number(latency.p95_ms),
          number(latency.p99_ms),
          number(latency.throughput),
          known(latency.tokens_per_second),
          side.peak_bytes ? QString::number(*side.peak_bytes) : QString(),
          known(side.norm_share)};
}

QStringList sideHeads(const QString& side) {
  QStringList heads;
  for (const char* what : {"model", "runtime", "median ms", "mean ms", "p5 ms", "p95 ms", "p99 ms", "per s",
                           "tokens per s", "peak bytes", "share of norms"}) {
    heads << side + u' ' + QLatin1String(what);
  }
  return heads;
}

QString paperFigure(const protocol::BenchPoint& point, const std::optional<PaperSeries>& paper) {
  const auto size = paper ? sizeOf(point, paper->over) : std::nullopt;
  return size ? known(paper->at(*size)) : QString();
}

QStringList fieldsOf(const protocol::BenchPoint& point, const std::optional<PaperSeries>& paper) {
  QStringList fields{pointName(point), text(point.device), text(point.dtype), text(point.norm)};
  const bool measured = point.error.empty();
  const bool two = measured && point.b;
  const QStringList nothing(sideHeads({}).size());
  fields += measured ? sideFields(point.a) : nothing;
  fields += two ? sideFields(*point.b) : nothing;
  if (two) {
    fields << number(point.speedup) << number(point.ci_low) << number(point.ci_high)
           << (point.noise ? QStringLiteral("noise") : QString()) << known(point.expected_speedup);
  } else {
    fields += QStringList(5);
  }
  fields << QString::number(point.rounds.size()) << (point.threads > 0 ? QString::number(point.threads) : QString())
         << (point.rounds.empty() ? QString() : number(point.other_cores));
  fields << known(point.fold_ms) << known(point.break_even) << paperFigure(point, paper) << text(point.error);
  return fields;
}

}  // namespace

QString benchCsv(const protocol::BenchResult& result, const std::optional<PaperSeries>& paper) {
  QStringList heads{QStringLiteral("Point"), QStringLiteral("device"), QStringLiteral("dtype"), QStringLiteral("norm")};
  heads += sideHeads(QStringLiteral("A"));
  heads += sideHeads(QStringLiteral("B"));
  heads << QStringLiteral("speed-up") << QStringLiteral("95% from") << QStringLiteral("95% to")
        << QStringLiteral("noise") << QStringLiteral("expected") << QStringLiteral("rounds")
        << QStringLiteral("threads") << QStringLiteral("other programs' cores") << QStringLiteral("fold ms")
        << QStringLiteral("break-even") << (paper ? paper->label : QStringLiteral("paper")) << QStringLiteral("error");
  QString csv = csvLine(heads);
  for (const protocol::BenchPoint& point : result.points) csv += csvLine(fieldsOf(point, paper));
  return csv;
}

QString benchNotes(const protocol::BenchResult& result, const std::optional<PaperSeries>& paper) {
  QStringList where;
  const protocol::BenchPoint* first = firstMeasured(result);
  if (first != nullptr) {
    const auto [a, b] = sideNames(*first);
    where << tr("A: %1").arg(a);
    if (!b.isEmpty()) where << tr("B: %1").arg(b);
  }
  const bool onKnownCpu = first != nullptr && first->device == "cpu" && !result.machine.cpu.empty();
  where << (onKnownCpu ? text(result.machine.cpu) : deviceName(result));
  if (first != nullptr && first->threads > 0) where << tr("threads: %1").arg(first->threads);
  where << text(result.versions) << text(result.taken);
  where.removeAll(QString());
  QString notes = u'\n' + where.join(QStringLiteral("; ")) + u'\n';
  if (paper) notes += u'\n' + tr("%1: speed-up in the %2").arg(paper->label, paper->source) + u'\n';
  if (const auto spread = protocol::foldSpread(result)) {
    notes += u'\n' +
             tr("fold over %1 points: mean %2 ms, deviation %3 ms, CV %4%")
                 .arg(spread->points)
                 .arg(formatNumber(spread->mean_ms, 4), formatNumber(spread->deviation_ms, 3),
                      formatNumber(spread->cv_percent, 3)) +
             u'\n';
  }
  for (const protocol::BenchPoint& point : result.points) {
    if (!point.error.empty()) notes += u'\n' + tr("%1 failed: %2").arg(pointName(point), text(point.error)) + u'\n';
    if (const QString caution = cautionOf(point); point.error.empty() && !caution.isEmpty()) {
      notes += u'\n' + QStringLiteral("%1: %2").arg(pointName(point), caution) + u'\n';
    }
  }
  return notes;
}

}  // namespace normlens::ui
