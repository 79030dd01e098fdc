// Lines that are drawn better than dot draws them: straight, with round corners, where the way is free.
#pragma once

#include <QPointF>
#include <utility>
#include <vector>

#include "ui/layout/dot/dot_graph.h"

namespace normlens::layout {

// Draws the edges that leave and join the residual stream.
//
//     │ stream                A branch leaves the line at the height of its reader and enters it from the side, or
//     ├────▶ ln_2             from above where the reader is a group. A sum is met from the side at its own height.
//     │       │               Where a box is in the way dot's own curve stays.
//    (+)◀─────╯
void routeAlongStream(const DotGraph& graph, DotDrawing& drawing);

// A value that many boxes further down read (an attention mask, positions) is drawn as one rail beside them.
//
//   source ──────────╮     Left to dot it becomes a fan of curves as wide as the model is deep.
//     [ layer.0 ] ◀──┤
//     [ layer.1 ] ◀──┤
//     [ layer.2 ] ◀──╯
//
// The edges (by index) that would be better off on rails, judged from a first drawing; one list per rail.
[[nodiscard]] std::vector<std::vector<int>> findRails(const DotGraph& graph, const DotDrawing& drawing);

// Draws them. `movable`: sources that may be moved sideways (ports on the group's own border). Returns the edges that
// something is in the way of; they have no curve of use.
[[nodiscard]] std::vector<int> drawRails(const DotGraph& graph, const std::vector<std::vector<int>>& rails,
                                         const std::vector<bool>& movable, DotDrawing& drawing);

inline constexpr double kEntryHeight = 15;  // The horizontal piece above a group is so high.

// A chain of cubic Bezier pieces made of straight lines and round corners.
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

// These return the x at which an edge leaves and enters: at its port, else in the middle of the box.
[[nodiscard]] inline double tailX(const DotEdge& edge, const DotGraph& graph, const DotDrawing& drawing) {
  const QRectF& rect = drawing.boxes[static_cast<size_t>(edge.from)];
  const auto& ports = graph.boxes[static_cast<size_t>(edge.from)].bottomPorts;
  return edge.fromPort >= 0 ? rect.left() + ports[static_cast<size_t>(edge.fromPort)] : rect.center().x();
}
[[nodiscard]] inline double headX(const DotEdge& edge, const DotGraph& graph, const DotDrawing& drawing) {
  const QRectF& rect = drawing.boxes[static_cast<size_t>(edge.to)];
  const auto& ports = graph.boxes[static_cast<size_t>(edge.to)].topPorts;
  return edge.toPort >= 0 ? rect.left() + ports[static_cast<size_t>(edge.toPort)] : rect.center().x();
}

// No box but those at the edge's ends is nearer than the clearance to a horizontal or vertical line. Ports of the group
// itself are not in the way.
[[nodiscard]] inline bool isFree(const QRectF& line, const DotEdge& edge, const DotDrawing& drawing, double clearance) {
  const QRectF area = line.normalized().adjusted(-clearance, -clearance, clearance, clearance);
  for (size_t i = 0; i < drawing.boxes.size(); ++i) {
    if (static_cast<int>(i) == edge.from || static_cast<int>(i) == edge.to) continue;
    if (drawing.boxes[i].width() > 2 && area.intersects(drawing.boxes[i])) return false;
  }
  return true;
}

}  // namespace normlens::layout
