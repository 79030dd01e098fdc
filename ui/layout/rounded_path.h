// A chain of cubic Bezier pieces made of straight lines and round corners.
#pragma once

#include <QPointF>
#include <utility>
#include <vector>

namespace normlens::layout {

class RoundedPath {
 public:
  explicit RoundedPath(QPointF start) : points_{start} {}

  void lineTo(QPointF end) {
    const QPointF start = points_.back();
    points_.push_back(start + (end - start) / 3);
    points_.push_back(start + (end - start) * 2 / 3);
    points_.push_back(end);
  }

  // A quarter of an ellipse that touches the lines start-corner and corner-end.
  void cornerTo(QPointF corner, QPointF end) {
    constexpr double kCircle = 0.5523;  // where the control points of a quarter circle lie
    const QPointF start = points_.back();
    points_.push_back(start + (corner - start) * kCircle);
    points_.push_back(end + (corner - end) * kCircle);
    points_.push_back(end);
  }

  [[nodiscard]] std::vector<QPointF> take() { return std::move(points_); }

 private:
  std::vector<QPointF> points_;  // 3k+1
};

}  // namespace normlens::layout
