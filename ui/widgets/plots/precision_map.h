// A heat map of errors: places in order of execution across, floating types down, color by the largest relative
// difference on a logarithmic scale. The same figures are in the table of its model, for those who read rather than
// look. The marks beside the types are those of the chart of error by depth. Arrow keys move a cursor, Enter and a
// click choose.
#pragma once

#include <QWidget>

#include "ui/theme/theme.h"

namespace normlens::ui {

class DifferenceMatrix;

// PrecisionMap and DepthPlot leave this much on their left and right, so that places lie above each other.
[[nodiscard]] inline int placeLeft() { return grown(88); }
inline constexpr int kPlaceRight = 14;

class PrecisionMap final : public QWidget {
  Q_OBJECT

 public:
  PrecisionMap(DifferenceMatrix* model, QWidget* parent);  // model: not owned

  void setChosen(int place, int type);  // -1: none
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override {
    return {placeLeft() + kPlaceRight + 120, sizeHint().height()};
  }

 Q_SIGNALS:
  void chosen(int place, int type);  // by the user

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;  // a tooltip for the cell under the mouse

 private:
  struct Cell {
    int place = -1, type = -1;
    [[nodiscard]] bool valid() const { return place >= 0 && type >= 0; }
  };
  [[nodiscard]] QRectF cellRect(const Cell& cell) const;
  [[nodiscard]] Cell cellAt(const QPointF& position) const;
  void paintCells(QPainter& painter) const;
  void describe();

  DifferenceMatrix* model_;  // Not owned.
  Cell chosen_;
};

}  // namespace normlens::ui
