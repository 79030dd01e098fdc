// Projects three dimensions onto the page: the uniform vector is vertical, the plane of zero-mean vectors horizontal.
// Parallel, so that lengths can be compared. Thread: any.
#pragma once

#include <QPointF>

#include "ui/learn/norm_geometry.h"

namespace normlens::ui {

struct VectorCamera {
  double azimuth = -0.42;   // radians, about the uniform vector
  double elevation = 0.30;  // radians above the plane

  // A vector of width 3; in its own units, y down, the origin at 0.
  [[nodiscard]] QPointF onPage(const Vector& x) const;
  // The vector at that place of the page with the mean of `like`.
  [[nodiscard]] Vector withMeanOf(const Vector& like, const QPointF& page) const;
  // The vector at that height of the page that differs from `like` by its mean alone.
  [[nodiscard]] Vector alongUniform(const Vector& like, const QPointF& page) const;
  // Turns by a way of the pointer over the page, in pixels.
  void turn(const QPointF& pixels);
};

// The circle of that radius in the plane of zero-mean vectors.
[[nodiscard]] std::vector<Vector> circleInPlane(double radius, int points = 96);

}  // namespace normlens::ui
