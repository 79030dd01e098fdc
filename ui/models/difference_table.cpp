#include "ui/models/difference_table.h"

#include <QCoreApplication>
#include <algorithm>
#include <climits>

#include "ui/session/format.h"

namespace normlens::ui {

namespace {

struct Head {
  const char* title;
  const char* meaning;
};

const Head kHeads[DifferenceTable::ColumnCount] = {
    {QT_TRANSLATE_NOOP("DifferenceTable", "#"),
     QT_TRANSLATE_NOOP("DifferenceTable", "Its place in order of execution.")},
    {QT_TRANSLATE_NOOP("DifferenceTable", "Place"),
     QT_TRANSLATE_NOOP("DifferenceTable", "The LayerNorm, the output or the value that is compared.")},
    {QT_TRANSLATE_NOOP("DifferenceTable", "What"),
     QT_TRANSLATE_NOOP("DifferenceTable", "Which tensor of it is compared.")},
    {QT_TRANSLATE_NOOP("DifferenceTable", "Max rel"),
     QT_TRANSLATE_NOOP("DifferenceTable", "The largest difference, divided by the largest value of the original.")},
    {QT_TRANSLATE_NOOP("DifferenceTable", "Rounding"),
     QT_TRANSLATE_NOOP(
         "DifferenceTable",
         "What the original loses by this precision alone: its largest relative difference from itself in "
         "float64.")},
    {QT_TRANSLATE_NOOP("DifferenceTable", "Max abs"), QT_TRANSLATE_NOOP("DifferenceTable", "The largest difference.")},
    {QT_TRANSLATE_NOOP("DifferenceTable", "Mean abs"),
     QT_TRANSLATE_NOOP("DifferenceTable", "The mean of all differences, without their signs.")},
    {QT_TRANSLATE_NOOP("DifferenceTable", "1 − cosine"),
     QT_TRANSLATE_NOOP("DifferenceTable", "How far the two tensors point in different directions; 0 is the same.")},
    {QT_TRANSLATE_NOOP("DifferenceTable", "ULP"),
     QT_TRANSLATE_NOOP("DifferenceTable",
                       "The largest distance in units of the last place; near zero small differences are many units.")},
    {QT_TRANSLATE_NOOP("DifferenceTable", "Farthest at"),
     QT_TRANSLATE_NOOP("DifferenceTable", "The index of the element that differs most.")},
    {QT_TRANSLATE_NOOP("DifferenceTable", "Compared"),
     QT_TRANSLATE_NOOP("DifferenceTable",
                       "What a fold changes on purpose is taken out of both before they are compared.")},
    {QT_TRANSLATE_NOOP("DifferenceTable", "Batch"),
     QT_TRANSLATE_NOOP("DifferenceTable", "The batch in which they are farthest apart; its figures are shown.")}};

QString indexWords(const std::vector<int64_t>& index) {
  QStringList parts;
  for (const int64_t at : index) parts << QString::number(at);
  return parts.isEmpty() ? QStringLiteral("–") : parts.join(QStringLiteral(", "));
}

// The histogram of the distances, as far as there are any.
QString ulpWords(const protocol::DiffRow& row) {
  if (row.ulps.empty()) return {};
  QStringList lines{DifferenceTable::tr("Elements by distance in units of the last place:")};
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

bool isFigure(int column) {
  return column == DifferenceTable::MaxRel || column == DifferenceTable::Rounding ||
         column == DifferenceTable::MaxAbs || column == DifferenceTable::MeanAbs || column == DifferenceTable::Cosine ||
         column == DifferenceTable::Ulp;
}

}  // namespace

QString kindWords(const protocol::DiffRow& row) {
  if (row.kind == "output") return DifferenceTable::tr("model output");
  if (row.kind == "norm_input") return DifferenceTable::tr("norm input");
  if (row.kind == "norm_output") return DifferenceTable::tr("norm output");
  return DifferenceTable::tr("value");
}

QString alignmentWords(const std::string& aligned) {
  if (aligned == "mean") return DifferenceTable::tr("without the mean");
  if (aligned == "beta") return DifferenceTable::tr("with β added");
  return {};
}

// ---- DifferenceTable

void DifferenceTable::setRows(std::vector<protocol::DiffRow> rows) {
  beginResetModel();
  rows_ = std::move(rows);
  endResetModel();
}

int DifferenceTable::rowOfNorm(int norm) const {
  const auto found = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const auto& row) { return row.norm == norm && row.kind == "norm_output"; });
  return norm < 0 || found == rows_.end() ? -1 : static_cast<int>(found - rows_.begin());
}

int DifferenceTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int DifferenceTable::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QString DifferenceTable::shown(const protocol::DiffRow& row, int column) const {
  switch (column) {
    case Step:
      return row.kind == "output" ? QStringLiteral("–") : QString::number(row.step);
    case Name:
      return text(row.name);
    case What:
      return kindWords(row);
    case MaxRel:
      return formatNumber(row.max_rel, 3);
    case Rounding:
      return row.rounding ? formatNumber(*row.rounding, 3) : QStringLiteral("–");
    case MaxAbs:
      return formatNumber(row.max_abs, 3);
    case MeanAbs:
      return formatNumber(row.mean_abs, 3);
    case Cosine:
      return formatNumber(1 - row.cosine, 3);
    case Ulp:
      return row.ulps.empty() ? QStringLiteral("–") : formatCount(static_cast<int64_t>(row.max_ulp));
    case Worst:
      return indexWords(row.worst_index);
    case Aligned:
      return row.aligned == "none" ? tr("as they are") : alignmentWords(row.aligned);
    case Batch:
      return QString::number(row.batch + 1);
    default:
      return {};
  }
}

QVariant DifferenceTable::sortKey(const protocol::DiffRow& row, int column) const {
  switch (column) {
    case Step:
      return row.kind == "output" ? INT_MAX : row.step;
    case MaxRel:
      return row.max_rel;
    case Rounding:
      return row.rounding.value_or(-1);
    case MaxAbs:
      return row.max_abs;
    case MeanAbs:
      return row.mean_abs;
    case Cosine:
      return 1 - row.cosine;
    case Ulp:
      return row.max_ulp;
    case Batch:
      return row.batch;
    default:
      return shown(row, column);
  }
}

QVariant DifferenceTable::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const protocol::DiffRow& row = rows_[static_cast<size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole:
      return shown(row, index.column());
    case Qt::ToolTipRole:
      if (index.column() == Ulp && !row.ulps.empty()) return ulpWords(row);
      if (index.column() == Worst && !row.worst_index.empty()) {
        return tr("%1 in the one model, %2 in the other")
            .arg(formatNumber(row.worst_a, 6), formatNumber(row.worst_b, 6));
      }
      return QStringLiteral("%1 · %2 %3").arg(shown(row, index.column()), text(row.dtype), formatShape(row.shape));
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(Qt::AlignVCenter | (isFigure(index.column()) ? Qt::AlignRight : Qt::AlignLeft));
    case SortRole:
      return sortKey(row, index.column());
    case NormRole:
      return row.norm;
    default:
      return {};
  }
}

QVariant DifferenceTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation == Qt::Vertical || section < 0 || section >= ColumnCount) return {};
  if (role == Qt::DisplayRole) return QCoreApplication::translate("DifferenceTable", kHeads[section].title);
  if (role == Qt::ToolTipRole) return QCoreApplication::translate("DifferenceTable", kHeads[section].meaning);
  if (role == Qt::TextAlignmentRole) {
    return QVariant::fromValue(Qt::AlignVCenter | (isFigure(section) ? Qt::AlignRight : Qt::AlignLeft));
  }
  return {};
}

DifferenceSorter::DifferenceSorter(QObject* parent) : QSortFilterProxyModel(parent) {
  setSortRole(DifferenceTable::SortRole);
  setDynamicSortFilter(true);
}

bool DifferenceSorter::lessThan(const QModelIndex& left, const QModelIndex& right) const {
  const QVariant a = left.data(DifferenceTable::SortRole), b = right.data(DifferenceTable::SortRole);
  if (a.typeId() == QMetaType::QString) {
    const int order = QString::localeAwareCompare(a.toString(), b.toString());
    return order != 0 ? order < 0 : left.row() < right.row();
  }
  return a.toDouble() != b.toDouble() ? a.toDouble() < b.toDouble() : left.row() < right.row();
}

// ---- DifferenceMatrix

void DifferenceMatrix::setColumns(const std::vector<protocol::DiffResult>& columns) {
  beginResetModel();
  places_.clear();
  types_.clear();
  const auto placeOf = [&](const protocol::DiffRow& row) {
    return std::find_if(places_.begin(), places_.end(), [&](const Place& place) {
      return place.kind == row.kind && place.value == row.value && place.output == row.output;
    });
  };
  for (const protocol::DiffResult& column : columns) {
    for (const protocol::DiffRow& row : column.rows) {
      if (row.kind == "norm_input" || placeOf(row) != places_.end()) continue;
      places_.push_back({row.name, row.kind, row.norm, row.value, row.output});
    }
  }
  for (const protocol::DiffResult& column : columns) {
    Type type{text(column.dtype), asSentence(text(column.error)), {}};
    type.rows.resize(places_.size());
    for (const protocol::DiffRow& row : column.rows) {
      if (const auto place = placeOf(row); place != places_.end()) {
        type.rows[static_cast<size_t>(place - places_.begin())] = row;
      }
    }
    types_.push_back(std::move(type));
  }
  endResetModel();
}

QString DifferenceMatrix::typeName(int type) const { return types_[static_cast<size_t>(type)].name; }
QString DifferenceMatrix::typeError(int type) const { return types_[static_cast<size_t>(type)].error; }

const protocol::DiffRow* DifferenceMatrix::at(int place, int type) const {
  const protocol::DiffRow& row = types_[static_cast<size_t>(type)].rows[static_cast<size_t>(place)];
  return row.kind.empty() ? nullptr : &row;
}

int DifferenceMatrix::placeOfNorm(int norm) const {
  const auto found =
      std::find_if(places_.begin(), places_.end(), [&](const Place& place) { return place.norm == norm; });
  return norm < 0 || found == places_.end() ? -1 : static_cast<int>(found - places_.begin());
}

QString DifferenceMatrix::tip(int place, int type) const {
  const protocol::DiffRow* row = at(place, type);
  if (row == nullptr) {
    const QString error = typeError(type);
    return QStringLiteral("%1 · %2").arg(typeName(type), error.isEmpty() ? tr("not measured") : error);
  }
  QString words =
      tr("%1 · %2 · max rel %3 · max abs %4")
          .arg(text(row->name), typeName(type), formatNumber(row->max_rel, 3), formatNumber(row->max_abs, 3));
  if (row->rounding) words += tr(" · the original's own rounding %1").arg(formatNumber(*row->rounding, 3));
  return words;
}

int DifferenceMatrix::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : places(); }

int DifferenceMatrix::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : FirstType + types();
}

QVariant DifferenceMatrix::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Place& at = place(index.row());
  const int type = index.column() - FirstType;
  if (role == DifferenceTable::NormRole) return at.norm;
  if (role == Qt::TextAlignmentRole) {
    return QVariant::fromValue(Qt::AlignVCenter | (type < 0 ? Qt::AlignLeft : Qt::AlignRight));
  }
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  if (index.column() == Name) return text(at.name);
  if (index.column() == What) {
    protocol::DiffRow row;
    row.kind = at.kind;
    return kindWords(row);
  }
  if (role == Qt::ToolTipRole) return tip(index.row(), type);
  const protocol::DiffRow* row = this->at(index.row(), type);
  return row == nullptr ? QStringLiteral("–") : formatNumber(row->max_rel, 3);
}

QVariant DifferenceMatrix::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation == Qt::Vertical || section < 0 || section >= columnCount()) return {};
  const int type = section - FirstType;
  if (role == Qt::DisplayRole) return section == Name ? tr("Place") : section == What ? tr("What") : typeName(type);
  if (role == Qt::ToolTipRole) {
    if (type < 0) return tr("The tensor that is compared in each type.");
    return typeError(type).isEmpty() ? tr("The largest relative difference in this type.") : typeError(type);
  }
  if (role == Qt::TextAlignmentRole) {
    return QVariant::fromValue(Qt::AlignVCenter | (type < 0 ? Qt::AlignLeft : Qt::AlignRight));
  }
  return {};
}

}  // namespace normlens::ui
