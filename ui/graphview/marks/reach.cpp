#include "ui/graphview/marks/reach.h"

#include <utility>

namespace normlens::graphview {
namespace {

void collectOps(const layout::Hierarchy& hierarchy, int item, std::vector<int>& ops) {
  if (hierarchy.item(item).kind == layout::ItemKind::Op) ops.push_back(item);
  for (const int child : hierarchy.item(item).children) collectOps(hierarchy, child, ops);
}

// Marks what is before or behind the items, but for what is marked already.
void follow(const layout::Hierarchy& hierarchy, std::vector<int> items, Side side, std::vector<Side>& data) {
  std::vector<bool> seen(hierarchy.items.size(), false);
  for (const int item : items) seen[static_cast<size_t>(item)] = true;
  while (!items.empty()) {
    const int item = items.back();
    items.pop_back();
    for (const int index :
         (side == Side::Upstream ? hierarchy.entering : hierarchy.leaving).of(static_cast<size_t>(item))) {
      const layout::DataEdge& edge = hierarchy.edges[static_cast<size_t>(index)];
      if (data[static_cast<size_t>(index)] == Side::None) data[static_cast<size_t>(index)] = side;
      const int next = side == Side::Upstream ? edge.from : edge.to;
      if (seen[static_cast<size_t>(next)]) continue;
      seen[static_cast<size_t>(next)] = true;
      items.push_back(next);
    }
  }
}

}  // namespace

Reach::Reach(const Scene& scene, const std::vector<Side>& data) : edges_(scene.layout->edges.size(), Side::None) {
  for (size_t i = 0; i < edges_.size(); ++i) {
    const layout::Edge& edge = scene.layout->edges[i];
    for (int k = 0; k < edge.dataCount && edges_[i] == Side::None; ++k)
      edges_[i] = data[static_cast<size_t>(
          scene.layout->edgeData[static_cast<size_t>(edge.firstData) + static_cast<size_t>(k)])];
  }
}

Reach Reach::ofItem(const Scene& scene, int item) {
  std::vector<int> ops;
  collectOps(*scene.hierarchy, item, ops);
  std::vector<Side> data(scene.hierarchy->edges.size(), Side::None);
  follow(*scene.hierarchy, ops, Side::Upstream, data);
  follow(*scene.hierarchy, ops, Side::Downstream, data);
  return {scene, data};
}

Reach Reach::ofValue(const Scene& scene, int value) {
  const auto& edges = scene.hierarchy->edges;
  std::vector<Side> data(edges.size(), Side::None);
  std::vector<int> makers, readers;
  for (size_t i = 0; i < edges.size(); ++i) {
    if (edges[i].value != value) continue;
    makers = {edges[i].from};
    readers.push_back(edges[i].to);
    data[i] = Side::Downstream;
  }
  follow(*scene.hierarchy, std::move(makers), Side::Upstream, data);
  follow(*scene.hierarchy, std::move(readers), Side::Downstream, data);
  return {scene, data};
}

}  // namespace normlens::graphview
