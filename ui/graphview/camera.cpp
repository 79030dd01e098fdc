#include "ui/graphview/camera.h"

#include <algorithm>
#include <cmath>

namespace normlens::graphview {

Camera Camera::zoomedAbout(const QPointF& screen, double newZoom) const {
  const QPointF world = toWorld(screen);
  Camera next{std::clamp(newZoom, kMinZoom, kMaxZoom), {}};
  next.offset = screen - world * next.zoom;
  return next;
}

Camera Camera::fitting(const QRectF& world, const QRectF& viewport, double maxZoom) {
  if (world.isEmpty() || viewport.isEmpty()) return {};
  const double zoom = std::min(viewport.width() / world.width(), viewport.height() / world.height());
  Camera camera{std::clamp(std::min(zoom, maxZoom), kMinZoom, kMaxZoom), {}};
  return camera.placing(world.center(), viewport.center());
}

Camera Camera::placing(const QPointF& world, const QPointF& screen) const { return {zoom, screen - world * zoom}; }

Camera Camera::between(const Camera& from, const Camera& to, double t, const QSizeF& viewport) {
  const QPointF middle(viewport.width() / 2, viewport.height() / 2);
  const QPointF start = from.toWorld(middle), end = to.toWorld(middle);
  const double zoom = from.zoom * std::pow(to.zoom / from.zoom, t);
  // Moving evenly on the screen: the weight follows the zoom, or a long zoom would first fly past its goal.
  const double span = 1 / to.zoom - 1 / from.zoom;
  const double weight = std::abs(span) < 1e-6 ? t : (1 / zoom - 1 / from.zoom) / span;
  return Camera{zoom, {}}.placing(start + (end - start) * weight, middle);
}

}  // namespace normlens::graphview
