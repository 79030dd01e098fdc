#include "ui/models/record_table.h"

namespace normlens::ui {

RecordSorter::RecordSorter(QObject* parent) : QSortFilterProxyModel(parent) {
  setSortRole(kSortRole);
  setDynamicSortFilter(true);
}

bool RecordSorter::lessThan(const QModelIndex& left, const QModelIndex& right) const {
  const QVariant a = left.data(kSortRole), b = right.data(kSortRole);
  const auto order = a.typeId() == QMetaType::QString ? QPartialOrdering::Unordered : QVariant::compare(a, b);
  if (order == QPartialOrdering::Less || order == QPartialOrdering::Greater) return order == QPartialOrdering::Less;
  const int words = order == QPartialOrdering::Unordered ? QString::localeAwareCompare(a.toString(), b.toString()) : 0;
  return words != 0 ? words < 0 : left.row() < right.row();
}

}  // namespace normlens::ui
