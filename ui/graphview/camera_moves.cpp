#include "ui/graphview/camera_moves.h"

#include <algorithm>

namespace normlens::graphview {
namespace {

constexpr double kReadableZoom = 0.7;  // smaller text is no first look
constexpr double kNamesZoom = 0.78;    // at which names are easy to read
constexpr double kKept = 60;           // pixels of the graph that stay in sight

}  // namespace

Camera firstLook(const layout::Layout& layout, const QRectF& area) {
  const QRectF bounds = layout.bounds;
  const Camera whole = Camera::fitting(bounds, area);
  if (whole.zoom >= kReadableZoom) return whole;
  const auto first = [&](bool tooLarge) {
    return tooLarge && !layout.points.empty() ? layout.boxes.front().rect.center() : bounds.center();
  };
  if (layout.direction == layout::Direction::Right) {
    const double zoom = std::clamp(area.height() / bounds.height(), kReadableZoom, 1.0);
    const double y = first(bounds.height() * zoom > area.height()).y();
    return Camera{zoom, {}}.placing({bounds.left(), y}, {area.left(), area.center().y()});
  }
  const double zoom = std::clamp(area.width() / bounds.width(), kReadableZoom, 1.0);
  const double x = first(bounds.width() * zoom > area.width()).x();
  return Camera{zoom, {}}.placing({x, bounds.top()}, {area.center().x(), area.top()});
}

Camera lookAtBox(const QRectF& box, const Camera& now, const QRectF& area) {
  const double whole = Camera::fitting(box, area, 1).zoom;
  const double zoom = std::clamp(now.zoom, std::min(0.8, whole), std::max(1.2, whole));
  const bool tall = box.height() * zoom > area.height();
  const QPointF world = tall ? QPointF(box.center().x(), box.top()) : box.center();
  const QPointF screen = tall ? QPointF(area.center().x(), area.top()) : area.center();
  return Camera{zoom, {}}.placing(world, screen);
}

Camera lookAtLight(const Lighting& lighting, const QRectF& area) {
  const Camera whole = Camera::fitting(lighting.nearBounds().adjusted(0, -6, 0, 6), area);
  if (whole.zoom >= kNamesZoom) return whole;
  return Camera{kNamesZoom, {}}.placing(lighting.focus(), area.center());
}

Camera keptInSight(Camera camera, const QRectF& graph, const QSizeF& viewport) {
  const QRectF bounds = camera.toScreen(graph);
  const double dx = std::max(0.0, kKept - bounds.right()) + std::min(0.0, viewport.width() - kKept - bounds.left());
  const double dy = std::max(0.0, kKept - bounds.bottom()) + std::min(0.0, viewport.height() - kKept - bounds.top());
  camera.offset += QPointF(dx, dy);
  return camera;
}

}  // namespace normlens::graphview
