#include "ui/graphview/marks/plan_marks.h"

#include <algorithm>

namespace normlens::graphview {

namespace {

constexpr double kBehindBox = 15;  // from where the value leaves its box, world units

// Where the edge that carries the value begins: on the stream before all others, then the first from above.
std::optional<QPointF> startOfValue(const Scene& scene, int value) {
  std::optional<QPointF> best;
  bool onStream = false;
  for (int i = 0; i < static_cast<int>(scene.layout->edges.size()); ++i) {
    const auto data = scene.dataOf(i);
    if (std::ranges::none_of(data, [&](const layout::DataEdge& edge) { return edge.value == value; })) continue;
    const layout::Edge& edge = scene.edge(i);
    const QPointF start = scene.startOf(edge);
    const bool first = !best || (scene.runsDown() ? start.y() < best->y() : start.x() < best->x());
    if (edge.stream < onStream || (edge.stream == onStream && !first)) continue;
    best = start;
    onStream = edge.stream;
  }
  return best;
}

}  // namespace

PlanMarks::PlanMarks(const Scene& scene, const PlanPicture& picture) : active(true), proved(picture.proved) {
  const layout::Hierarchy& hierarchy = *scene.hierarchy;
  for (const auto& [node, state] : picture.norms) {
    const int item = hierarchy.itemOfId(node);
    if (item < 0) continue;
    ofItem[item] = state;
    for (int group = hierarchy.item(item).parent; group >= 0; group = hierarchy.item(group).parent)
      ++inGroup[group][static_cast<size_t>(state)];
  }
  const auto put = [&](const std::vector<int>& nodes, int Pills::*which) {
    for (const int node : nodes) {
      const int item = hierarchy.itemOfId(node);
      if (const int box = item < 0 ? -1 : scene.boxOf(item); box >= 0) ++(ofBox[box].*which);
    }
  };
  put(picture.centered, &Pills::centered);
  put(picture.shifted, &Pills::shifted);
  for (const int id : picture.centerings) {
    const int value = hierarchy.values.of(id);
    const auto start = value < 0 ? std::nullopt : startOfValue(scene, value);
    const QPointF step = scene.runsDown() ? QPointF(0, kBehindBox) : QPointF(kBehindBox, 0);
    if (start) centerings.emplace_back(*start + step, value);
  }
}

}  // namespace normlens::graphview
