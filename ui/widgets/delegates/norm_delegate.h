// Paints the norm list: group rows with icon, title and count; norm rows with icon, name (its last part strong) and
// width; under the current norm its reason.
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
