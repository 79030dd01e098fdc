#include "ui/models/search/norm_filter.h"

#include <algorithm>

#include "ui/models/norm_model.h"

namespace normlens::ui {

void NormFilter::setWords(const QString& words) {
  words_ = words.split(u' ', Qt::SkipEmptyParts);
  invalidateFilter();
  // The counts of the groups changed with their children.
  Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, 0), {NormModel::CountRole});
}

QVariant NormFilter::data(const QModelIndex& index, int role) const {
  if (role == NormModel::CountRole && index.isValid() && !index.parent().isValid() && !words_.isEmpty()) {
    return rowCount(index);
  }
  return QSortFilterProxyModel::data(index, role);
}

bool NormFilter::filterAcceptsRow(int row, const QModelIndex& parent) const {
  if (!parent.isValid()) return true;
  const QModelIndex at = sourceModel()->index(row, 0, parent);
  const QString searched = at.data(NormModel::NameRole).toString() + u' ' + at.data(NormModel::ReasonRole).toString();
  return std::all_of(words_.begin(), words_.end(),
                     [&](const QString& word) { return searched.contains(word, Qt::CaseInsensitive); });
}

}  // namespace normlens::ui
