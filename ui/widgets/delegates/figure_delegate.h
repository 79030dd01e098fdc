// Paints tables of figures: one column of names, all else monospaced and aligned as the model says.
#pragma once

#include <QStyledItemDelegate>

namespace normlens::ui {

class FigureDelegate final : public QStyledItemDelegate {
  Q_OBJECT

 public:
  FigureDelegate(int nameColumn, QObject* parent) : QStyledItemDelegate(parent), nameColumn_(nameColumn) {}
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 private:
  int nameColumn_;
};

}  // namespace normlens::ui
