#include "ui/models/plan/variant_table.h"

#include <algorithm>

#include "ui/session/proofs.h"
#include "ui/words/format.h"

namespace normlens::ui {
namespace {

using Row = VariantRow;
using Say = QString (*)(const Row&);

QString nameOf(const Row& row) {
  const QString name = row.inUse ? VariantTable::tr("● %1").arg(row.name) : row.name;
  return row.same.isEmpty() ? name : VariantTable::tr("%1 (the same plan as %2)").arg(name, row.same);
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

QString time(const Row& row) {
  if (!row.time || !row.time->b || row.time->crowded) return QStringLiteral("–");
  return formatSpeedup(row.time->speedup, row.time->ci_low, row.time->ci_high);
}

std::vector<RecordColumn<Row>> columns() {
  const auto tr = [](const char* words) { return VariantTable::tr(words); };
  const auto figure = [&](const char* title, const char* meaning, Say say) {
    return RecordColumn<Row>(tr(title), tr(meaning), say, {}, Qt::AlignRight);
  };
  return {{tr("Variant"), tr("A plan by its policy. ● marks the plan in use."), nameOf},
          figure("Folded", "LayerNorms that become RMSNorms.", folded),
          figure("Centerings", "Means that are subtracted at run time.",
                 [](const Row& row) { return QString::number(row.plan.centerings); }),
          figure("File grows by", "Bytes that copies of weights add.",
                 [](const Row& row) { return formatBytes(row.plan.bytes_grown); }),
          figure("Rewritten", "Bytes of the weights that are centered.",
                 [](const Row& row) { return formatBytes(row.plan.bytes_centered); }),
          figure("Largest error",
                 "The largest relative difference of an output, in the file's own type. –: not proved.", error),
          figure("Speed-up",
                 "Measured time of the original divided by that of the variant, with its 95% interval. –: "
                 "not measured.",
                 time)};
}

}  // namespace

VariantTable::VariantTable(QObject* parent) : RecordTable(columns(), {}, parent) {}

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
