// Maps figures by depth to points of a chart: one place for each norm or output from left to right, in the order in
// which they run, and their figures upwards. Thread: value type.
#pragma once

#include <QPainterPath>
#include <QRectF>
#include <QString>
#include <functional>
#include <vector>

namespace normlens::ui {

struct DepthScale {
  QRectF plot;
  int places = 0;
  bool logarithmic = true;
  double low = 0, high = 1;  // A logarithmic scale has powers of ten.

  [[nodiscard]] double step() const;  // pixels a place
  // The middle of the place. What lies beyond the scale lies on its edge; on a logarithmic one what is zero on the
  // foot, what is infinite on the top.
  [[nodiscard]] QPointF at(int place, double value) const;
  [[nodiscard]] int placeAt(const QPointF& at) const;  // -1: outside
  [[nodiscard]] double levelOf(double tick) const;     // y
  // Powers of ten from the top down, or even parts of the range: at most `most` steps.
  [[nodiscard]] std::vector<double> ticks(int most) const;
};

// Through the figures; where one is not there (NaN) the line has a gap.
[[nodiscard]] QPainterPath pathThrough(const DepthScale& scale, const std::function<double(int place)>& figureOf);

// "0.1", "1", "1000", "1e-5"
[[nodiscard]] QString powerOfTen(double power);

}  // namespace normlens::ui
