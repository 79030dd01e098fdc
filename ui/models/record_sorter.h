// Sorts numbers as numbers and words as the language does; what is equal keeps its order.
#pragma once

#include <QSortFilterProxyModel>

namespace normlens::ui {

// A number or a text to sort by; the roles of a table's own come after it.
inline constexpr int kSortRole = Qt::UserRole;

class RecordSorter : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  explicit RecordSorter(QObject* parent = nullptr);

 protected:
  [[nodiscard]] bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;
};

}  // namespace normlens::ui
