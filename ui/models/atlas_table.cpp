#include "ui/models/atlas_table.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

namespace normlens::ui {
namespace {

using Count = std::function<int(const AtlasRow& row)>;

RecordColumn<AtlasRow> count(const char* title, const char* tip, const Count& of) {
  return {AtlasTable::tr(title),
          AtlasTable::tr(tip),
          [of](const AtlasRow& row) { return QString::number(of(row)); },
          {{kSortRole, of}},
          Qt::AlignRight};
}

// Returns the columns in the order of AtlasTable::Column.
AtlasTable::Columns columns() {
  const auto share = [](const AtlasRow& row) { return row.norms == 0 ? -1.0 : double(row.free) / row.norms; };
  const auto shares = [](const AtlasRow& row) {
    return QVariantList{row.free, row.centering, row.blocked, row.unknown};
  };
  const auto printed = [](const AtlasRow& row) {
    if (!row.printed) return QStringLiteral("–");
    return AtlasTable::tr("%1, %2 of %3")
        .arg(row.printed->foldable)
        .arg(row.printed->practical)
        .arg(row.printed->norms);
  };
  return {
      {AtlasTable::tr("Architecture"), AtlasTable::tr("The model class in transformers or timm."),
       [](const AtlasRow& row) { return row.name; }},
      count("Layers", "Of the small model: list modules that contain norms.",
            [](const AtlasRow& row) { return row.layers; }),
      count("Norms", "LayerNorms of the small model.", [](const AtlasRow& row) { return row.norms; }),
      count("Free", "Fold by editing weights alone.", [](const AtlasRow& row) { return row.free; }),
      count("Centering", "Fold with run-time centerings.", [](const AtlasRow& row) { return row.centering; }),
      count("Blocked", "Remain LayerNorms.", [](const AtlasRow& row) { return row.blocked; }),
      {AtlasTable::tr("Share"),
       AtlasTable::tr("Free, with centering, blocked."),
       [](const AtlasRow&) { return QString(); },
       {{kSortRole, share}, {AtlasTable::SharesRole, shares}}},
      count("Alg. 1", "Foldable by the papers' Algorithm 1, run by NormLens.",
            [](const AtlasRow& row) { return row.paper; }),
      count("+ centering", "Foldable by the papers' practical extension (001, 4.2), run by NormLens.",
            [](const AtlasRow& row) { return row.practical; }),
      count("Strict", "Foldable by the papers' stricter criterion (001, D.2), run by NormLens.",
            [](const AtlasRow& row) { return row.strict; }),
      {AtlasTable::tr("Printed"),
       AtlasTable::tr("Paper 001, table 3: foldable, with the practical extension, of all."),
       printed,
       {},
       Qt::AlignRight},
      {AtlasTable::tr("Reason"), AtlasTable::tr("The most common reason why norms do not fold by weights alone."),
       [](const AtlasRow& row) { return row.note.isEmpty() ? row.reason : row.reason + QStringLiteral(" *"); }},
  };
}

AtlasRow rowFrom(const QJsonObject& entry) {
  AtlasRow row;
  row.name = entry["name"].toString();
  row.group = entry["group"].toString();
  row.made = entry["made"].toString();
  const std::pair<const char*, int AtlasRow::*> counts[] = {
      {"layers", &AtlasRow::layers},      {"layer_norms", &AtlasRow::norms},
      {"free", &AtlasRow::free},          {"with_centering", &AtlasRow::centering},
      {"blocked", &AtlasRow::blocked},    {"unknown", &AtlasRow::unknown},
      {"paper", &AtlasRow::paper},        {"paper_practical", &AtlasRow::practical},
      {"paper_strict", &AtlasRow::strict}};
  for (const auto& [key, member] : counts) row.*member = entry[QLatin1String(key)].toInt();
  const QJsonArray printed = entry["printed"].toArray();
  if (printed.size() == 3) row.printed = {printed[0].toInt(), printed[1].toInt(), printed[2].toInt()};
  row.reason = entry["reason"].toString();
  row.note = entry["note"].toString();
  return row;
}

QString toolTip(const AtlasRow& row) { return row.note.isEmpty() ? row.reason : row.reason + u'\n' + row.note; }

}  // namespace

AtlasTable::AtlasTable(QObject* parent) : RecordTable(columns(), {{Qt::ToolTipRole, toolTip}}, parent) {
  QFile file(QStringLiteral(":/normlens/reference/atlas.json"));
  if (!file.open(QIODevice::ReadOnly)) return;
  const QJsonObject all = QJsonDocument::fromJson(file.readAll()).object();
  std::vector<AtlasRow> rows;
  for (const auto& entry : all["rows"].toArray()) rows.push_back(rowFrom(entry.toObject()));
  setRows(std::move(rows));
  const QJsonObject versions = all["versions"].toObject();
  QStringList words;
  for (auto at = versions.begin(); at != versions.end(); ++at) words << at.key() + u' ' + at.value().toString();
  versions_ = words.join(QStringLiteral(", "));
}

AtlasFilter::AtlasFilter(AtlasTable* table) : RecordSorter(table), table_(table) { setSourceModel(table); }

void AtlasFilter::setWords(const QString& words) {
  words_ = words.split(u' ', Qt::SkipEmptyParts);
  invalidateFilter();
}

void AtlasFilter::setGroup(const QString& group) {
  group_ = group;
  invalidateFilter();
}

QString AtlasFilter::printedGroup() { return tr("In the papers"); }

bool AtlasFilter::isIn(const AtlasRow& row, const QString& group) {
  return group.isEmpty() || row.group == group || (group == printedGroup() && row.printed);
}

bool AtlasFilter::filterAcceptsRow(int row, const QModelIndex&) const {
  const AtlasRow& at = table_->row(row);
  const QString searched = at.name + u' ' + at.made + u' ' + at.reason + u' ' + at.note;
  return isIn(at, group_) &&
         std::ranges::all_of(words_, [&](const QString& word) { return searched.contains(word, Qt::CaseInsensitive); });
}

}  // namespace normlens::ui
