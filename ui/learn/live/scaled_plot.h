// A drawn part of a figure whose text and lines grow for a room.
#pragma once

#include <QWidget>

#include "ui/theme/theme.h"

namespace normlens::ui {

class ScaledPlot : public QWidget {
 public:
  using QWidget::QWidget;

  void setFactor(double factor) {
    factor_ = factor;
    update();
  }

 protected:
  [[nodiscard]] double factor() const { return factor_; }               // Scales fonts.
  [[nodiscard]] double scale() const { return factor_ * textScale(); }  // Scales lengths around text.

 private:
  double factor_ = 1;
};

}  // namespace normlens::ui
