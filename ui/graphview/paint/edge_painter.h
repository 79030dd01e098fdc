// Paints the edges of a scene: thin lines in batches, the few wide ones (stream, lit, chosen) on top, arrows, labels.
#pragma once

#include <QColor>
#include <QLineF>
#include <QPolygonF>
#include <QRectF>
#include <array>
#include <stop_token>
#include <vector>

#include "ui/graphview/camera.h"
#include "ui/graphview/lighting.h"
#include "ui/graphview/mean_states.h"
#include "ui/graphview/paint/text_cache.h"
#include "ui/graphview/reach.h"
#include "ui/graphview/scene.h"
#include "ui/theme/theme.h"

class QPainter;

namespace normlens::graphview {

struct EdgeView {
  const Scene& scene;
  const Camera& camera;
  QRectF visible;  // world
  const ui::Theme& theme;
  const Lighting* lighting = nullptr;
  const Reach* reach = nullptr;
  const MeanStates* means = nullptr;
  int selectedValue = -1;  // document value indices
  int hoveredValue = -1;
  const std::stop_token* stop = nullptr;  // ends the painting early
  bool detailed = true;                   // arrows, labels, all points of a curve
};

class EdgePainter {
 public:
  void paint(QPainter& painter, const EdgeView& view);
  // Shapes on the edges; after the boxes, so that a label is never cut. Labels that would touch anything are left out.
  void paintLabels(QPainter& painter, const EdgeView& view, TextCache& texts);

 private:
  struct Look {
    QColor color;
    double width = 1.5;
  };
  [[nodiscard]] Look lookOf(const EdgeView& view, int edge) const;
  // Edges of one look, drawn together.
  struct Batch {
    Look look;
    std::vector<QLineF> lines;
    std::vector<int> arrows;
  };
  [[nodiscard]] static Side sideOf(const EdgeView& view, int edge);
  [[nodiscard]] static MeanState meanOf(const EdgeView& view, int edge);
  void paintBatch(QPainter& painter, const EdgeView& view, const Batch& batch) const;
  void addLines(const EdgeView& view, int edge, std::vector<QLineF>& lines) const;
  void paintWide(QPainter& painter, const EdgeView& view, int edge, const Look& look);
  void paintArrow(QPainter& painter, const EdgeView& view, int edge, const Look& look) const;
  void paintLitParts(QPainter& painter, const EdgeView& view) const;
  bool placeLabel(const EdgeView& view, int edge, const QSizeF& size, QRectF& place) const;

  std::vector<int> found_, near_;
  std::vector<int> wide_;
  std::vector<QLineF> thin_;
  std::array<Batch, 6> batches_;  // by Side, then by MeanState without Unknown
  std::vector<QRectF> placed_;
};

}  // namespace normlens::graphview
