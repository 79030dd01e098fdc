// Paints tables of figures: one column of names, all else monospaced and aligned as in the model. A figure that is
// within what is allowed, or beyond, is marked by ground, ink and a sign.
#pragma once

#include <QStyledItemDelegate>

namespace normlens::ui {

class FigureDelegate : public QStyledItemDelegate {
  Q_OBJECT

 public:
  // toneRole: of the model, a ForcedErrorTable::Tone; markRole: a letter whose class mark is in the first column.
  // -1: there is none.
  FigureDelegate(int nameColumn, QObject* parent, int toneRole = -1, int markRole = -1)
      : QStyledItemDelegate(parent), nameColumn_(nameColumn), toneRole_(toneRole), markRole_(markRole) {}
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 private:
  int nameColumn_, toneRole_, markRole_;
};

}  // namespace normlens::ui
