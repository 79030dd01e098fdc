#include "ui/learn/vector_camera.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace normlens::ui {
namespace {

constexpr double kMostElevation = 1.35,
                 kLeastElevation = 0.12;  // radians of elevation: the plane never is a line, or the axis a point

// Two coordinates lie in the plane, one along 1.
struct Coordinates {
  double a = 0, b = 0, up = 0;
};

const double kRoot2 = std::numbers::sqrt2, kRoot3 = std::numbers::sqrt3, kRoot6 = kRoot2 * kRoot3;

Coordinates coordinatesOf(const Vector& x) {
  return {(x[0] - x[1]) / kRoot2, (x[0] + x[1] - 2 * x[2]) / kRoot6, (x[0] + x[1] + x[2]) / kRoot3};
}

Vector vectorOf(const Coordinates& at) {
  return {at.a / kRoot2 + at.b / kRoot6 + at.up / kRoot3, -at.a / kRoot2 + at.b / kRoot6 + at.up / kRoot3,
          -2 * at.b / kRoot6 + at.up / kRoot3};
}

}  // namespace

QPointF VectorCamera::onPage(const Vector& x) const {
  const auto [a, b, up] = coordinatesOf(x);
  const double across = a * std::cos(azimuth) - b * std::sin(azimuth);
  const double towards = a * std::sin(azimuth) + b * std::cos(azimuth);
  return {across, towards * std::sin(elevation) - up * std::cos(elevation)};
}

Vector VectorCamera::withMeanOf(const Vector& like, const QPointF& page) const {
  const double up = coordinatesOf(like).up;
  const double across = page.x(), towards = (page.y() + up * std::cos(elevation)) / std::sin(elevation);
  return vectorOf({across * std::cos(azimuth) + towards * std::sin(azimuth),
                   -across * std::sin(azimuth) + towards * std::cos(azimuth), up});
}

Vector VectorCamera::alongUniform(const Vector& like, const QPointF& page) const {
  Coordinates at = coordinatesOf(like);
  const double towards = at.a * std::sin(azimuth) + at.b * std::cos(azimuth);
  at.up = (towards * std::sin(elevation) - page.y()) / std::cos(elevation);
  return vectorOf(at);
}

void VectorCamera::turn(const QPointF& pixels) {
  constexpr double kRadiansPerPixel = 0.008;
  azimuth -= pixels.x() * kRadiansPerPixel;
  elevation = std::clamp(elevation + pixels.y() * kRadiansPerPixel, kLeastElevation, kMostElevation);
}

std::vector<Vector> circleInPlane(double radius, int points) {
  std::vector<Vector> circle;
  for (int i = 0; i <= points; ++i) {
    const double angle = 2 * std::numbers::pi * i / points;
    circle.push_back(vectorOf({radius * std::cos(angle), radius * std::sin(angle), 0}));
  }
  return circle;
}

}  // namespace normlens::ui
