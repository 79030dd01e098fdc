// A finished layout: flat arrays, world coordinates in pixels at zoom 1, y downwards. Immutable once made.
#pragma once

#include <QPointF>
#include <QRectF>
#include <cstdint>
#include <vector>

#include "ui/layout/box_metrics.h"

namespace normlens::layout {

enum class Direction : uint8_t { Down, Right };  // which way the data runs

struct Box {
  QRectF rect;
  int item = kNone;   // into Hierarchy::items
  int frame = kNone;  // the open group around it, an earlier box; kNone at the top level
  BoxKind kind = BoxKind::Op;
  bool onStream = false;
  double titleX = 0;        // A frame's title begins there, from its left edge.
  bool titleShort = false;  // without the class
};

// One piece of an edge, between two borders. Points are a cubic Bezier chain, 3k+1 of them.
struct Edge {
  int firstPoint = 0, pointCount = 0;
  int firstData = 0, dataCount = 0;  // in edgeData: the data edges that run through this piece
  bool stream = false;
  bool bridge = false;
  bool arrow = false;  // it ends at a box, not at a border
  QRectF bounds;
};

struct Layout {
  std::vector<Box> boxes;  // frames before what is in them
  std::vector<Edge> edges;
  std::vector<QPointF> points;
  std::vector<int> edgeData;   // indices into Hierarchy::edges
  std::vector<int> boxOfItem;  // by item: its box; kNone when it is inside a closed group
  QRectF bounds;
  Direction direction = Direction::Down;

  // The box that shows an item: its own or that of the closed group around it.
  [[nodiscard]] int shownBox(const Hierarchy& hierarchy, int item) const {
    for (; item >= 0; item = hierarchy.item(item).parent) {
      if (const int box = boxOfItem[static_cast<size_t>(item)]; box >= 0) return box;
    }
    return kNone;
  }
};

}  // namespace normlens::layout
