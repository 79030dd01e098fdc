// Maps the graph's plane to the screen: screen = world * zoom + offset, in device-independent pixels.
#pragma once

#include <QPointF>
#include <QRectF>
#include <QSizeF>

#include "ui/layout/layout.h"

namespace normlens::graphview {

struct Camera {
  static constexpr double kMinZoom = 0.02;
  static constexpr double kMaxZoom = 4.0;

  double zoom = 1;
  QPointF offset;

  [[nodiscard]] QPointF toScreen(const QPointF& world) const { return world * zoom + offset; }
  [[nodiscard]] QPointF toWorld(const QPointF& screen) const { return (screen - offset) / zoom; }
  [[nodiscard]] QRectF toScreen(const QRectF& world) const { return {toScreen(world.topLeft()), world.size() * zoom}; }
  [[nodiscard]] QRectF toWorld(const QRectF& screen) const { return {toWorld(screen.topLeft()), screen.size() / zoom}; }

  // The same world point stays under `screen`.
  [[nodiscard]] Camera zoomedAbout(const QPointF& screen, double newZoom) const;
  // Shows all of `world` in `viewport`, at most at actual size, centered.
  [[nodiscard]] static Camera fitting(const QRectF& world, const QRectF& viewport);
  // Puts a world point to a screen point.
  [[nodiscard]] Camera placing(const QPointF& world, const QPointF& screen) const;
  // Between two cameras, t in [0, 1]: the middle of the picture moves evenly and the zoom grows by even factors.
  [[nodiscard]] static Camera between(const Camera& from, const Camera& to, double t, const QSizeF& viewport);
};

// These return the camera that shows something. Areas are parts of the screen that are free for it.

// Everything if it can be read like that, else the beginning of the model. least: the zoom at the usual size of text
// below which nothing is read.
[[nodiscard]] Camera firstLook(const layout::Layout& layout, const QRectF& area, double least = 0.7);
// A box, at a zoom near the one of `now`; of one that is taller than the area its top.
// names: the zoom at which names have the size of text.
[[nodiscard]] Camera lookAtBox(const QRectF& box, const Camera& now, const QRectF& area, double names);
// All of an area of the graph if names can be read like that, else what matters in it.
[[nodiscard]] Camera lookAtNames(const QRectF& around, const QPointF& focus, const QRectF& area);
// Moved so far that a corner of the graph stays in sight.
[[nodiscard]] Camera keptInSight(Camera camera, const QRectF& graph, const QSizeF& viewport);

}  // namespace normlens::graphview
