// The pictures of a comparison of two models: a heat map and a chart over the same places. Thread: GUI thread.
#pragma once

#include <QWidget>

#include "ui/theme/theme.h"
#include "ui/widgets/plots/depth_scale.h"

class QPainter;

namespace normlens::ui {

class DifferenceMatrix;

// PrecisionMap and DepthPlot leave this much on their left and right, so that places lie above each other.
[[nodiscard]] inline int placeLeft() { return grown(88); }
inline constexpr int kPlaceRight = 14;

// A heat map of errors: places in order of execution across, floating types down, color by the largest relative
// difference on a logarithmic scale. The same figures are in the table of its model, for those who read rather than
// look. The marks beside the types are those of the chart of error by depth. Arrow keys move a cursor, Enter and a
// click choose.
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

// Error by depth: the largest relative difference over the places in order of execution, one line for each floating
// type, on a logarithmic axis. Lines differ by color and by mark; the marks are explained beside PrecisionMap.
// A dotted line of the same color: what the original loses by that type alone.
class DepthPlot final : public QWidget {
  Q_OBJECT

 public:
  DepthPlot(DifferenceMatrix* model, QWidget* parent);  // model: not owned

  void setChosen(int place);  // -1: none
  [[nodiscard]] QSize sizeHint() const override { return {360, 110}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {200, 48}; }

 Q_SIGNALS:
  void chosen(int place, int type);  // by the user

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;  // a tooltip for the mark under the mouse

 private:
  struct Mark {
    int place = -1, type = -1;
  };
  void rescale();
  [[nodiscard]] DepthScale scale() const;
  [[nodiscard]] Mark markAt(const QPointF& at) const;
  void paintAxes(QPainter& painter) const;
  void paintLine(QPainter& painter, int type) const;

  DifferenceMatrix* model_;   // Not owned.
  int low_ = -16, high_ = 0;  // powers of ten at the ends of the axis
  int chosen_ = -1;
};

}  // namespace normlens::ui
