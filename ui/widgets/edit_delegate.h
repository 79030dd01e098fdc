// Paints the class mark in front of an edit's kind in the plan table.
#pragma once

#include <QStyledItemDelegate>

namespace normlens::ui {

class EditDelegate final : public QStyledItemDelegate {
  Q_OBJECT

 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

}  // namespace normlens::ui
