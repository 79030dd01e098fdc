#include "ui/graphview/marks/neighbours.h"

#include <cmath>
#include <limits>

namespace normlens::graphview {
namespace {

// The nearest at the other end of an edge; -1.
int boxAlongEdges(const Scene& scene, int from, bool forward) {
  const layout::Hierarchy& hierarchy = *scene.hierarchy;
  const auto& boxes = scene.layout->boxes;
  const layout::Box& here = scene.box(from);
  if (here.kind == layout::BoxKind::Frame && forward) {  // into an open group
    for (size_t i = static_cast<size_t>(from) + 1; i < boxes.size(); ++i) {
      if (boxes[i].kind != layout::BoxKind::Frame)
        return hierarchy.contains(here.item, boxes[i].item) ? static_cast<int>(i) : -1;
    }
    return -1;
  }
  int best = -1;
  double least = std::numeric_limits<double>::max();
  std::vector<int> open{here.item};
  while (!open.empty()) {
    const int index = open.back();
    open.pop_back();
    const std::vector<int>& children = hierarchy.item(index).children;
    open.insert(open.end(), children.begin(), children.end());
    for (const int e : (forward ? hierarchy.leaving : hierarchy.entering).of(static_cast<size_t>(index))) {
      const layout::DataEdge& edge = hierarchy.edges[static_cast<size_t>(e)];
      const int box = scene.boxOf(forward ? edge.to : edge.from);
      if (box < 0 || box == from || hierarchy.contains(here.item, scene.box(box).item)) continue;
      const double distance = (scene.box(box).rect.center() - here.rect.center()).manhattanLength();
      if (distance >= least) continue;
      best = box;
      least = distance;
    }
  }
  return best;
}

}  // namespace

int boxTowards(const Scene& scene, int current, const QPointF& middle, int dx, int dy) {
  const auto& boxes = scene.layout->boxes;
  const QPointF from = current < 0 ? middle : scene.box(current).rect.center();
  const int along = scene.runsDown() ? dy : dx;
  if (current >= 0 && along != 0) {
    if (const int next = boxAlongEdges(scene, current, along > 0); next >= 0) return next;
  }
  int best = -1;
  double bestCost = std::numeric_limits<double>::max();
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (static_cast<int>(i) == current || boxes[i].kind == layout::BoxKind::Frame) continue;
    const QPointF d = boxes[i].rect.center() - from;
    const double ahead = d.x() * dx + d.y() * dy, aside = std::abs(d.x() * dy) + std::abs(d.y() * dx);
    const double cost = current < 0 ? d.manhattanLength() : ahead + 2 * aside;
    if (cost >= bestCost || (current >= 0 && ahead <= 1)) continue;
    best = static_cast<int>(i);
    bestCost = cost;
  }
  return best;
}

}  // namespace normlens::graphview
