// Paints the edges of a scene: thin lines in batches, the few wide ones (stream, lit, chosen) on top, arrows, labels.
#pragma once

#include <QColor>
#include <QLineF>
#include <QRectF>
#include <array>
#include <vector>

#include "ui/graphview/paint/text_cache.h"

namespace normlens::graphview {

struct PaintFrame;

class EdgePainter {
 public:
  void paint(const PaintFrame& f);
  // Shapes on the edges; after the boxes, so that a label is never cut. Labels that would touch anything are left out.
  void paintLabels(const PaintFrame& f, TextCache& texts);

 private:
  struct Look {
    QColor color;
    double width = 1.5;
  };
  [[nodiscard]] static Look lookOf(const PaintFrame& f, int index);
  // Edges of one look, drawn together.
  struct Batch {
    Look look;
    std::vector<QLineF> lines;
    std::vector<int> arrows;
  };
  static void paintBatch(const PaintFrame& f, const Batch& batch);
  static void addLines(const PaintFrame& f, int edge, std::vector<QLineF>& lines);
  void paintWide(const PaintFrame& f, int index, const Look& look);
  static void paintArrow(const PaintFrame& f, int index, const Look& look);
  static void paintLitParts(const PaintFrame& f);
  bool placeLabel(const PaintFrame& f, int edge, const QSizeF& size, QRectF& place) const;

  std::vector<int> found_, near_;
  std::vector<int> wide_;
  std::vector<QLineF> thin_;
  std::array<Batch, 6> batches_;  // by Side, then by MeanState without Unknown
  std::vector<QRectF> placed_;
};

}  // namespace normlens::graphview
