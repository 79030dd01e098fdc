// Shows how a network is drawn in the charts, beside its name. Thread: GUI thread.
#pragma once

#include <QStyledItemDelegate>
#include <QWidget>

#include "core/base/words/lab.h"

namespace normlens::ui {

class NetworkMark final : public QWidget {
  Q_OBJECT

 public:
  NetworkMark(lab::NormUse network, QWidget* parent);
  [[nodiscard]] QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  lab::NormUse network_;
};

// Paints the ticks and marks of a LabTable.
class LabDelegate final : public QStyledItemDelegate {
  Q_OBJECT

 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 protected:
  // A click on the tick's cell, or Space anywhere in the row.
  bool editorEvent(QEvent* event, QAbstractItemModel* model, const QStyleOptionViewItem& option,
                   const QModelIndex& index) override;
};

}  // namespace normlens::ui
