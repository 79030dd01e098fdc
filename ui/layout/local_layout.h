// The inside of one open group: its boxes, curves and ports, with the group's top left corner as origin.
//
// Depends on sizes, ports and edges only, not on names: two blocks with the same key share one LocalLayout.
#pragma once

#include <QByteArray>
#include <QPointF>
#include <QRectF>
#include <functional>
#include <vector>

#include "core/base/result.h"
#include "ui/layout/box_metrics.h"
#include "ui/layout/dot/dot_graph.h"
#include "ui/layout/visible_graph.h"

namespace normlens::layout {

// Boxes and edges that dot is given at most: it takes some 50 ms for them, and grows faster than linearly.
inline constexpr size_t kMostForDot = 500;

struct ChildBox {
  BoxKind kind = BoxKind::Op;
  QSizeF size;
  std::vector<double> inPorts, outPorts;  // An open child's, by port number.
};

struct LocalInput {
  LocalGraph graph;
  std::vector<ChildBox> boxes;  // as graph.boxes
  double titleWidth = 0;        // Fits name and class.
  double shortTitleWidth = 0;   // Fits the name alone.
  bool isModel = false;         // no border, no title
  // The picture will be turned over its diagonal, so that what runs down here runs to the right there: boxes lie on
  // their side, and the title's band is on the left.
  bool sideways = false;
};

struct LocalLayout {
  QSizeF size;
  std::vector<QRectF> boxes;                 // as LocalInput::boxes
  std::vector<std::vector<QPointF>> curves;  // as graph.edges: cubic chains of 3k+1 points
  std::vector<double> inPorts, outPorts;     // x on the top and bottom border
  double titleX = 0;                         // left end of the title, where no port is in its way
  bool titleShort = false;                   // there is room for the name only
};

[[nodiscard]] QByteArray layoutKey(const LocalInput& input);

using RunDot = std::function<Result<DotDrawing>(const DotGraph&)>;

// Uses dot, which draws small groups best; what is too large for it, or what it fails at, gets layers of our own.
// Errors: Cancelled, where runDot returns it.
[[nodiscard]] Result<LocalLayout> layOutGroup(const LocalInput& input, const RunDot& runDot);

}  // namespace normlens::layout
