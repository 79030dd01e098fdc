// Paints the norm list: group rows with the verdict's ring, title, count and what the plan does with them; norm rows with
// the ring, the name (its last part strong) and at the right the plan's square with its word; under the current norm the
// reason.
#pragma once

#include <QStyledItemDelegate>

class QTreeView;

namespace normlens::ui {

class NormDelegate final : public QStyledItemDelegate {
  Q_OBJECT

 public:
  explicit NormDelegate(QTreeView* view);  // view: not owned, the parent

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  // The current row changed: the rows before and after it change height.
  void currentChanged(const QModelIndex& now, const QModelIndex& before);

 private:
  void paintGroup(QPainter& painter, const QRect& row, const QModelIndex& index) const;
  void paintNorm(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index) const;
  [[nodiscard]] int reasonWidth() const;
  [[nodiscard]] int reasonHeight(const QString& reason) const;
  [[nodiscard]] QRect wholeRow(const QRect& item) const;

  QTreeView* view_;  // Not owned.
};

}  // namespace normlens::ui
