// Paints the norm table: the verdict with its mark, names and numbers monospaced, a line above each group.
#pragma once

#include <QStyledItemDelegate>

namespace normlens::ui {

class NormTableDelegate final : public QStyledItemDelegate {
  Q_OBJECT

 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

}  // namespace normlens::ui
