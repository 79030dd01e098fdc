#include "ui/models/plan/variant_table.h"

#include <algorithm>
#include <cmath>

#include "ui/session/proofs.h"
#include "ui/words/bench_text.h"
#include "ui/words/format.h"

namespace normlens::ui {
namespace {

using Row = VariantRow;
using Say = QString (*)(const Row&);

QString nameOf(const Row& row) {
  const QString name = row.inUse ? VariantTable::tr("● %1").arg(row.name) : row.name;
  return row.same.isEmpty() ? name : VariantTable::tr("%1, same as %2").arg(name, row.same);
}

QString folded(const Row& row) {
  return QStringLiteral("%1 of %2").arg(row.plan.folded.size()).arg(row.plan.layer_norms);
}

QString error(const Row& row) {
  if (!row.proof) return QStringLiteral("–");
  if (row.proof->exact == false) return VariantTable::tr("outputs differ");
  const protocol::ErrorPair& pair = row.proof->file_done ? row.proof->file : row.proof->algebra;
  return row.proof->file_done || row.proof->algebra_done ? formatError(pair.max_rel) : QStringLiteral("–");
}

bool isMeasured(const Row& row) { return row.time && row.time->b && !row.time->crowded; }

// The median over rounds, with the 95% interval that the order of the rounds gives whatever their distribution is.
QString time(const Row& row) {
  if (!isMeasured(row)) return QStringLiteral("–");
  const QString median = formatMedian(row.time->b->latency.median_ms);
  std::vector<double> rounds;
  for (const auto& [a, b] : row.time->rounds) rounds.push_back(b);
  std::ranges::sort(rounds);
  const auto count = static_cast<double>(rounds.size());
  const auto below = static_cast<ptrdiff_t>(std::floor((count - 1.96 * std::sqrt(count)) / 2));
  if (below < 1) return median;  // too few rounds for an interval
  return QStringLiteral("%1 (%2–%3)")
      .arg(median, formatMedian(rounds[static_cast<size_t>(below) - 1]),
           formatMedian(rounds[rounds.size() - static_cast<size_t>(below)]));
}

QString speedup(const Row& row) {
  if (!isMeasured(row)) return QStringLiteral("–");
  return formatSpeedup(row.time->speedup, row.time->ci_low, row.time->ci_high);
}

std::vector<RecordColumn<Row>> columns() {
  const auto tr = [](const char* words) { return VariantTable::tr(words); };
  const auto figure = [&](const char* title, const char* meaning, Say say) {
    return RecordColumn<Row>(tr(title), tr(meaning), say, {}, Qt::AlignRight);
  };
  return {{tr("Variant"), tr("A plan by its policy, or with your changes. ● marks the plan in use."), nameOf},
          figure("Folded", "LayerNorms that become RMSNorms.", folded),
          figure("Centerings", "Means that are subtracted at run time.",
                 [](const Row& row) { return QString::number(row.plan.centerings); }),
          figure("File grows by", "Bytes that copies of weights add.",
                 [](const Row& row) { return formatBytes(row.plan.bytes_grown); }),
          figure("Rewritten", "Bytes of the weights that are centered.",
                 [](const Row& row) { return formatBytes(row.plan.bytes_centered); }),
          figure("Largest error",
                 "The largest relative difference of an output, in the file's own type. –: not proved.", error),
          figure("ms per run", "Measured median of the variant, with its 95% interval. –: not measured.", time),
          figure("Speed-up",
                 "Measured time of the original divided by that of the variant, with its 95% interval. –: "
                 "not measured.",
                 speedup)};
}

}  // namespace

VariantTable::VariantTable(QObject* parent) : RecordTable(columns(), {}, parent) {}

QString VariantTable::summaryOf(const Row& row) {
  QStringList parts{row.name, tr("%1 folded").arg(folded(row))};
  parts << (row.plan.centerings == 1 ? tr("1 centering") : tr("%1 centerings").arg(row.plan.centerings));
  if (row.proof) parts << (row.proof->exact == false ? error(row) : tr("error %1").arg(error(row)));
  if (isMeasured(row)) parts << tr("%1 ms").arg(time(row));
  return parts.join(QStringLiteral(" · "));
}

void VariantTable::show(std::vector<VariantRow> rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto above = std::ranges::find_if(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(i),
                                            [&](const Row& other) { return sameEdits(other.plan, rows[i].plan); });
    if (above != rows.begin() + static_cast<ptrdiff_t>(i)) rows[i].same = above->name;
  }
  if (rowCount() == static_cast<int>(rows.size())) {
    replaceRows(0, std::move(rows));
  } else {
    setRows(std::move(rows));
  }
}

}  // namespace normlens::ui
