#include "ui/models/probe_table.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace normlens::ui {
namespace {

using protocol::ProbeRow;
using Row = ProbeRow;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

QString angleWords(double angle, double spread) {
  return std::isfinite(angle) ? QStringLiteral("%1° ± %2").arg(angle, 0, 'f', 1).arg(spread, 0, 'f', 1)
                              : QStringLiteral("–");
}

QString numberWords(double value) { return std::isfinite(value) ? formatNumber(value, 3) : QStringLiteral("–"); }

double swapOf(const Row& row) { return row.swap ? row.swap->mean_rel : kNone; }

RecordColumn<Row> figure(const char* title, const char* tip, std::function<QString(const Row&)> words,
                         std::function<double(const Row&)> key) {
  return {ProbeTable::tr(title),
          ProbeTable::tr(tip),
          std::move(words),
          {{kSortRole,
            [key](const Row& row) {
              const double value = key(row);
              return QVariant(std::isfinite(value) ? value : -1.0);
            }}},
          Qt::AlignRight};
}

ProbeTable::Columns columns() {
  const auto tr = [](const char* words) { return ProbeTable::tr(words); };
  return {
      {tr("Norm"), tr("In the order in which they run."), textOf(&Row::title)},
      {tr("Kind"), tr("LayerNorm or RMSNorm."), textOf(&Row::kind)},
      figure(
          "Input angle", "Of the input to the uniform vector: mean and standard deviation over the rows.",
          [](const Row& row) { return angleWords(row.input.angle_deg, row.input.angle_std); },
          [](const Row& row) { return row.input.angle_deg; }),
      figure(
          "Output angle", "Of the output to the uniform vector.",
          [](const Row& row) { return angleWords(row.output.angle_deg, row.output.angle_std); },
          [](const Row& row) { return row.output.angle_deg; }),
      figure(
          "Random", "The control: the input's angle to random vectors.",
          [](const Row& row) { return angleWords(row.random.angle_deg, row.random.angle_std); },
          [](const Row& row) { return row.random.angle_deg; }),
      figure(
          "Input length", "Mean length of the input's rows.",
          [](const Row& row) { return numberWords(row.input.norm); }, [](const Row& row) { return row.input.norm; }),
      figure(
          "Output length", "Mean length of the output's rows.",
          [](const Row& row) { return numberWords(row.output.norm); }, [](const Row& row) { return row.output.norm; }),
      figure(
          "Share of energy", "Of the input's squared length, what lies along the uniform vector.",
          [](const Row& row) {
            return std::isfinite(row.input.mean_share)
                       ? formatNumber(row.input.mean_share * 100, 2) + QStringLiteral(" %")
                       : QStringLiteral("–");
          },
          [](const Row& row) { return row.input.mean_share; }),
      figure(
          "Error if swapped", "Of this norm's output, if an RMSNorm took its place as it is: mean relative error.",
          [](const Row& row) { return row.swap ? formatError(row.swap->mean_rel) : QStringLiteral("–"); }, swapOf),
      {tr("Would notice"), tr("Hardly: the mean relative error of its output stays below 3e-2."), [](const Row& row) {
         if (!row.reason.empty()) return asSentence(text(row.reason));
         if (!row.swap) return asSentence(text(row.swap_reason));
         return row.swap->mean_rel < kHardlyNoticed ? ProbeTable::tr("hardly") : ProbeTable::tr("yes");
       }}};
}

}  // namespace

ProbeTable::ProbeTable(QObject* parent) : RecordTable(columns(), {}, parent) {}

QStringList probeFindings(const protocol::ProbeResult& result) {
  int layerNorms = 0, near = 0, hardly = 0, exact = 0;
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const Row& row : result.rows) {
    if (row.kind != "LayerNorm" || !std::isfinite(row.input.angle_deg)) continue;
    constexpr double kNear = 6, kExact = 1e-4;  // degrees
    ++layerNorms;
    near += std::abs(row.input.angle_deg - 90) <= kNear ? 1 : 0;
    exact += std::abs(row.input.angle_deg - 90) < kExact && row.input.angle_std < kExact ? 1 : 0;
    hardly += row.swap && row.swap->mean_rel < kHardlyNoticed ? 1 : 0;
    least = std::min(least, row.input.mean_share);
    most = std::max(most, row.input.mean_share);
  }
  if (layerNorms == 0) return {ProbeTable::tr("There is no LayerNorm whose input could be measured.")};
  QStringList findings{
      ProbeTable::tr("%1 of %2 LayerNorms get inputs within 6° of a right angle to the uniform vector. "
                     "The mean holds %3 to %4 % of their energy.")
          .arg(near)
          .arg(layerNorms)
          .arg(formatNumber(least * 100, 2), formatNumber(most * 100, 2)),
      ProbeTable::tr("Swapped for an RMSNorm as it is, %1 of them would change its output by less than 3e-2. "
                     "Folding first changes nothing.")
          .arg(hardly)};
  if (exact > 0)
    findings << ProbeTable::tr("%1 stand at exactly 90°: their input has mean zero, and they are RMSNorms already.")
                    .arg(exact);
  const Row& last = result.rows.back();
  if (std::isfinite(last.random.angle_deg))
    findings << ProbeTable::tr("Random vectors: %1° with spread %2°; 1/√%3 is %4°.")
                    .arg(last.random.angle_deg, 0, 'f', 1)
                    .arg(last.random.angle_std, 0, 'f', 2)
                    .arg(last.width)
                    .arg(last.random.expected_std, 0, 'f', 2);
  return findings;
}

}  // namespace normlens::ui
