// Paints the tick and the class mark in front of an edit's kind in the plan table; an edit that is off is quiet.
#pragma once

#include <QStyledItemDelegate>

namespace normlens::ui {

class EditDelegate final : public QStyledItemDelegate {
  Q_OBJECT

 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  [[nodiscard]] static QRect tickArea(const QRect& cell);

 protected:
  bool editorEvent(QEvent* event, QAbstractItemModel* model, const QStyleOptionViewItem& option,
                   const QModelIndex& index) override;
};

}  // namespace normlens::ui
