// Error by depth: the largest relative difference over the places in order of execution, one line for each floating
// type, on a logarithmic axis. Lines differ by color and by mark; the marks are explained beside PrecisionMap.
// A dotted line of the same color: what the original loses by that type alone.
#pragma once

#include <QWidget>

#include "ui/widgets/plots/depth_scale.h"

class QPainter;

namespace normlens::ui {

class DifferenceMatrix;

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
