// Defines what a layout of one group is given, and what it returns.
//
// Units: device-independent pixels at zoom 1 (one point each), y downwards, origin at the top left of everything.
#pragma once

#include <QPointF>
#include <QRectF>
#include <vector>

namespace normlens::layout {

// Ports are places on the top and bottom border where edges enter and leave: x from the box's left edge.
struct DotBox {
  double width = 0, height = 0;
  bool circle = false;
  bool stream = false;  // on the residual stream: kept in one column
  bool group = false;   // A branch off the stream enters it from above, not from the side.
  std::vector<double> topPorts, bottomPorts;
};

struct DotEdge {
  int from = 0, to = 0;            // indices of boxes
  int fromPort = -1, toPort = -1;  // into bottomPorts / topPorts; -1: dot picks the place
  bool stream = false;
  bool chain = false;   // the only edge out of `from` and into `to`: kept straight
  bool guide = false;   // not drawn; lines its ends up. Has no curve of use
  bool order = false;   // not drawn, no pull: keeps `from` above `to`
  bool routed = false;  // the caller draws it: dot does not see it

  [[nodiscard]] bool hasCurve() const { return !guide && !order && !routed; }  // by dot
};

struct DotGraph {
  std::vector<DotBox> boxes;
  std::vector<DotEdge> edges;
  std::vector<int> sources, sinks;  // boxes that must lie on the first and on the last rank
  double nodeGap = 24;
  double rankGap = 28;
};

struct DotDrawing {
  std::vector<QRectF> boxes;
  std::vector<std::vector<QPointF>> curves;  // per edge: cubic Bezier chain, 3k+1 points from `from` to `to`
  QRectF bounds;                             // Bounds the boxes and curves.
};

}  // namespace normlens::layout
