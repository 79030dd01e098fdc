// Boxes without their text, drawn once per look and size and blitted from then on.
//
// Thread: GUI thread.
#pragma once

#include <QHash>
#include <QPixmap>
#include <QRectF>

#include "ui/graphview/paint/box_style.h"

class QPainter;

namespace normlens::graphview {

class BoxSprites {
 public:
  // rect: on the screen; zoom scales borders, corners and glow with the box.
  void draw(QPainter& painter, const QRectF& rect, double zoom, layout::BoxKind kind, char letter,
            const BoxState& state, const ui::Theme& theme);
  void clear() { sprites_.clear(); }

  // The same, straight into a painter.
  static void paint(QPainter& painter, const QRectF& rect, double zoom, layout::BoxKind kind, const BoxStyle& style);

 private:
  QHash<quint64, QPixmap> sprites_;
};

}  // namespace normlens::graphview
