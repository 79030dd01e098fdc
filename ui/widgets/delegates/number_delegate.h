// Cells of a table of figures: words in the first column, monospaced numbers at the right in the others.
#pragma once

#include <QStyledItemDelegate>

namespace normlens::ui {

class NumberDelegate final : public QStyledItemDelegate {
  Q_OBJECT

 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

}  // namespace normlens::ui
