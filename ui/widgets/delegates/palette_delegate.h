// Paints a row of the command palette: icon, title with the matched letters strong, hint at the right.
#pragma once

#include <QStyledItemDelegate>

namespace normlens::ui {

class PaletteDelegate final : public QStyledItemDelegate {
  Q_OBJECT

 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override;
};

}  // namespace normlens::ui
