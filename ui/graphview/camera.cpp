#include "ui/graphview/camera.h"

#include <algorithm>
#include <cmath>

#include "ui/theme/theme.h"

namespace normlens::graphview {
namespace {

// At the usual size of text; they grow with it, so that the graph is read as the rest is.
constexpr double kNamesZoom = 0.78;  // at which names are easy to read
constexpr double kKept = 60;         // pixels of the graph that stay in sight

}  // namespace

Camera Camera::zoomedAbout(const QPointF& screen, double newZoom) const {
  return Camera{std::clamp(newZoom, kMinZoom, kMaxZoom), {}}.placing(toWorld(screen), screen);
}

Camera Camera::fitting(const QRectF& world, const QRectF& viewport) {
  if (world.isEmpty() || viewport.isEmpty()) return {};
  const double zoom = std::min(viewport.width() / world.width(), viewport.height() / world.height());
  Camera camera{std::clamp(zoom, kMinZoom, ui::textScale()), {}};
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

Camera firstLook(const layout::Layout& layout, const QRectF& area, double least) {
  const QRectF bounds = layout.bounds;
  const Camera whole = Camera::fitting(bounds, area);
  const double readable = least * ui::textScale(), actual = ui::textScale();
  if (whole.zoom >= readable) return whole;
  const auto first = [&](bool tooLarge) {
    return tooLarge && !layout.points.empty() ? layout.boxes.front().rect.center() : bounds.center();
  };
  if (layout.direction == layout::Direction::Right) {
    const double zoom = std::clamp(area.height() / bounds.height(), readable, actual);
    const double y = first(bounds.height() * zoom > area.height()).y();
    return Camera{zoom, {}}.placing({bounds.left(), y}, {area.left(), area.center().y()});
  }
  const double zoom = std::clamp(area.width() / bounds.width(), readable, actual);
  const double x = first(bounds.width() * zoom > area.width()).x();
  return Camera{zoom, {}}.placing({x, bounds.top()}, {area.center().x(), area.top()});
}

Camera lookAtBox(const QRectF& box, const Camera& now, const QRectF& area, double names) {
  const double fits = box.isEmpty() ? names : std::min(area.width() / box.width(), area.height() / box.height());
  const double zoom = std::max(Camera::kMinZoom, std::clamp(now.zoom, std::min(0.8 * names, fits), 1.2 * names));
  const bool tall = box.height() * zoom > area.height();
  const QPointF world = tall ? QPointF(box.center().x(), box.top()) : box.center();
  const QPointF screen = tall ? QPointF(area.center().x(), area.top()) : area.center();
  return Camera{zoom, {}}.placing(world, screen);
}

Camera lookAtNames(const QRectF& around, const QPointF& focus, const QRectF& area) {
  const Camera whole = Camera::fitting(around.adjusted(0, -6, 0, 6), area);
  const double names = kNamesZoom * ui::textScale();
  if (whole.zoom >= names) return whole;
  return Camera{names, {}}.placing(focus, area.center());
}

Camera keptInSight(Camera camera, const QRectF& graph, const QSizeF& viewport) {
  const QRectF bounds = camera.toScreen(graph);
  const double dx = std::max(0.0, kKept - bounds.right()) + std::min(0.0, viewport.width() - kKept - bounds.left());
  const double dy = std::max(0.0, kKept - bounds.bottom()) + std::min(0.0, viewport.height() - kKept - bounds.top());
  camera.offset += QPointF(dx, dy);
  return camera;
}

}  // namespace normlens::graphview
