#include "ui/models/difference_table.h"

#include <algorithm>
#include <climits>

namespace normlens::ui {

namespace {

using Row = protocol::DiffRow;
using Column = RecordColumn<Row>;

QString indexWords(const std::vector<int64_t>& index) {
  QStringList parts;
  for (const int64_t at : index) parts << QString::number(at);
  return parts.isEmpty() ? QStringLiteral("–") : parts.join(QStringLiteral(", "));
}

QString stepWords(const Row& row) {
  return row.kind == SiteKind::Output ? QStringLiteral("–") : QString::number(row.step);
}
int stepKey(const Row& row) { return row.kind == SiteKind::Output ? INT_MAX : row.step; }

QString roundingWords(const Row& row) { return row.rounding ? formatNumber(*row.rounding, 3) : QStringLiteral("–"); }

QString ulpFigure(const Row& row) {
  return row.ulps.empty() ? QStringLiteral("–") : formatCount(static_cast<int64_t>(row.max_ulp));
}

QString tipWith(const QString& shown, const Row& row) {
  return QStringLiteral("%1 · %2 %3").arg(shown, text(row.dtype), formatShape(row.shape));
}

// The histogram of the distances, as far as there are any.
QString ulpWords(const Row& row) {
  if (row.ulps.empty()) return tipWith(ulpFigure(row), row);
  QStringList lines{DifferenceTable::tr("Elements by distance in units in the last place:")};
  for (size_t i = 0; i < row.ulps.size(); ++i) {
    if (row.ulps[i] == 0) continue;
    const qint64 high = i == 0 ? 0 : qint64{1} << (i - 1);
    const qint64 low = i < 3 ? high : high / 2 + 1;
    const QString range = i + 1 == row.ulps.size() ? DifferenceTable::tr("%1 or more").arg(low)
                          : low == high            ? QString::number(low)
                                                   : QStringLiteral("%1 – %2").arg(low).arg(high);
    lines << QStringLiteral("%1: %2").arg(range, formatCount(row.ulps[i]));
  }
  return lines.join(u'\n');
}

QString worstTip(const Row& row) {
  if (row.worst_index.empty()) return tipWith(indexWords(row.worst_index), row);
  return DifferenceTable::tr("%1 in the one model, %2 in the other")
      .arg(formatNumber(row.worst_a, 6), formatNumber(row.worst_b, 6));
}

// The tip contains the type and the shape too, unless `values` hold another one.
Column word(const QString& title, const QString& meaning, const std::function<QString(const Row&)>& shown,
            RecordValues<Row> values = {}, Qt::AlignmentFlag side = Qt::AlignLeft) {
  values.try_emplace(Qt::ToolTipRole, [shown](const Row& row) { return tipWith(shown(row), row); });
  return {title, meaning, shown, std::move(values), side};
}

Column figure(const QString& title, const QString& meaning, double Row::*member) {
  const auto shown = [member](const Row& row) { return formatNumber(row.*member, 3); };
  return word(title, meaning, shown, {{kSortRole, member}}, Qt::AlignRight);
}

DifferenceTable::Columns columns() {
  const auto tr = [](const char* words) { return DifferenceTable::tr(words); };
  return {
      word(tr("#"), tr("Its position in execution order."), stepWords, {{kSortRole, stepKey}}),
      word(tr("Place"), tr("The compared LayerNorm, output or value."), textOf(&Row::name)),
      word(tr("What"), tr("Which of its tensors is compared."), [](const Row& row) { return kindWords(row.kind); }),
      word(
          tr("Max rel"), tr("The largest difference, divided by the largest value of the original."),
          [](const Row& row) { return formatNumber(row.max_rel, 3); },
          {{kSortRole, &Row::max_rel}, {DifferenceTable::FloorRole, isAtFloor}}, Qt::AlignRight),
      word(tr("Rounding"),
           tr("The original's own rounding error in this precision: its largest relative difference from its float64 "
              "copy. In float64: from a copy whose weights are off by up to half a unit in the last place."),
           roundingWords, {{kSortRole, [](const Row& row) { return row.rounding.value_or(-1); }}}, Qt::AlignRight),
      figure(tr("Max abs"), tr("The largest difference."), &Row::max_abs),
      figure(tr("Mean abs"), tr("The mean of all absolute differences."), &Row::mean_abs),
      word(
          tr("1 − cosine"), tr("How much the directions of the two tensors differ; 0: not at all."),
          [](const Row& row) { return formatNumber(1 - row.cosine, 3); },
          {{kSortRole, [](const Row& row) { return 1 - row.cosine; }}}, Qt::AlignRight),
      word(tr("ULP"),
           tr("The largest distance in units in the last place. Near zero, small differences are many units."),
           ulpFigure, {{kSortRole, &Row::max_ulp}, {Qt::ToolTipRole, ulpWords}}, Qt::AlignRight),
      word(tr("Farthest at"), tr("The index of the element that differs most."),
           [](const Row& row) { return indexWords(row.worst_index); }, {{Qt::ToolTipRole, worstTip}}),
      word(tr("Compared"), tr("Intended changes of a fold are taken out of both tensors before they are compared."),
           [](const Row& row) {
             return row.aligned == Alignment::None ? DifferenceTable::tr("unchanged") : alignmentWords(row.aligned);
           }),
      word(tr("Batch"), tr("The batch with the largest difference; its figures are shown."),
           [](const Row& row) { return QString::number(row.batch + 1); }, {{kSortRole, &Row::batch}}),
  };
}

}  // namespace

QString kindWords(SiteKind kind) {
  constexpr std::array kWords = {QT_TR_NOOP("model output"), QT_TR_NOOP("norm input"), QT_TR_NOOP("norm output"),
                                 QT_TR_NOOP("value")};
  return DifferenceTable::tr(kWords.at(static_cast<size_t>(kind)));
}

QString alignmentWords(Alignment aligned) {
  if (aligned == Alignment::None) return {};
  if (aligned == Alignment::GammaAndBeta) return DifferenceTable::tr("with γ and β");
  return aligned == Alignment::Mean ? DifferenceTable::tr("without the mean") : DifferenceTable::tr("with β added");
}

std::optional<double> floorOf(const Row& row) {
  constexpr double kFloors = 6;  // as core/run/proof
  return row.rounding ? std::optional(kFloors * *row.rounding) : std::nullopt;
}

bool isAtFloor(const Row& row) {
  const auto floor = floorOf(row);
  return floor && row.max_rel <= *floor;
}

// ---- DifferenceTable

DifferenceTable::DifferenceTable(QObject* parent) : RecordTable(columns(), {{NormRole, &Row::norm}}, parent) {}

int DifferenceTable::rowOfNorm(int norm) const {
  if (norm < 0) return -1;
  return rowWhere([&](const Row& row) { return row.norm == norm && row.kind == SiteKind::NormOutput; });
}

// ---- DifferenceMatrix

DifferenceMatrix::DifferenceMatrix(QObject* parent)
    : RecordTable({}, {{DifferenceTable::NormRole, &DifferencePlace::norm}}, parent) {
  setColumns({});
}

void DifferenceMatrix::setColumns(const std::vector<protocol::DiffResult>& columns) {
  std::vector<DifferencePlace> places;
  const auto placeOf = [&](const Row& row) {
    return std::find_if(places.begin(), places.end(), [&](const DifferencePlace& place) {
      return place.kind == row.kind && place.value == row.value && place.output == row.output;
    });
  };
  types_.clear();
  for (const protocol::DiffResult& column : columns) {
    types_.push_back({text(column.dtype), asSentence(text(column.error))});
    for (const Row& row : column.rows) {
      if (row.kind == SiteKind::NormInput || placeOf(row) != places.end()) continue;
      places.push_back(
          {row.name, row.kind, row.norm, row.value, row.output, std::vector<std::optional<Row>>(columns.size())});
    }
  }
  for (size_t type = 0; type < columns.size(); ++type) {
    for (const Row& row : columns[type].rows) {
      if (const auto place = placeOf(row); place != places.end()) place->figures[type] = row;
    }
  }
  setRows(std::move(places), columnsOfTypes());
}

DifferenceMatrix::Columns DifferenceMatrix::columnsOfTypes() const {
  const QString meaning = tr("The tensor that is compared in each type.");
  Columns columns{{tr("Place"), meaning, textOf(&DifferencePlace::name)},
                  {tr("What"), meaning, [](const DifferencePlace& place) { return kindWords(place.kind); }}};
  for (int type = 0; type < types(); ++type) {
    const auto shown = [type](const DifferencePlace& place) {
      const Row* row = place.at(type);
      return row == nullptr ? QStringLiteral("–") : formatNumber(row->max_rel, 3);
    };
    columns.push_back(
        {typeName(type),
         typeError(type).isEmpty() ? tr("The largest relative difference in this type.") : typeError(type),
         shown,
         {{Qt::ToolTipRole, [this, type](const DifferencePlace& place) { return tip(place, type); }},
          {DifferenceTable::FloorRole,
           [type](const DifferencePlace& place) {
             const Row* row = place.at(type);
             return row != nullptr && isAtFloor(*row);
           }}},
         Qt::AlignRight});
  }
  return columns;
}

int DifferenceMatrix::placeOfNorm(int norm) const {
  return norm < 0 ? -1 : rowWhere([&](const DifferencePlace& place) { return place.norm == norm; });
}

QString DifferenceMatrix::tip(const DifferencePlace& place, int type) const {
  const Row* row = place.at(type);
  if (row == nullptr) {
    const QString error = typeError(type);
    return QStringLiteral("%1 · %2").arg(typeName(type), error.isEmpty() ? tr("not measured") : error);
  }
  QString words =
      tr("%1 · %2 · max rel %3 · max abs %4")
          .arg(text(row->name), typeName(type), formatNumber(row->max_rel, 3), formatNumber(row->max_abs, 3));
  if (row->rounding) words += tr(" · the original's own rounding %1").arg(formatNumber(*row->rounding, 3));
  if (isAtFloor(*row)) words += tr(" · within 6 × that: rounding explains it");
  return words;
}

}  // namespace normlens::ui
