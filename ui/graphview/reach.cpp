#include "ui/graphview/reach.h"

#include <utility>

namespace normlens::graphview {
namespace {

void collectOps(const layout::Hierarchy& hierarchy, int item, std::vector<int>& ops) {
  if (hierarchy.item(item).kind == layout::ItemKind::Op) ops.push_back(item);
  for (const int child : hierarchy.item(item).children) collectOps(hierarchy, child, ops);
}

}  // namespace

Reach Reach::ofItem(const Scene& scene, int item) {
  Reach reach;
  std::vector<int> ops;
  collectOps(*scene.hierarchy, item, ops);
  reach.data_.assign(scene.hierarchy->edges.size(), Side::None);
  reach.follow(scene, ops, Side::Upstream);
  reach.follow(scene, ops, Side::Downstream);
  reach.settle(scene);
  return reach;
}

Reach Reach::ofValue(const Scene& scene, int value) {
  Reach reach;
  const auto& edges = scene.hierarchy->edges;
  reach.data_.assign(edges.size(), Side::None);
  std::vector<int> makers, readers;
  for (size_t i = 0; i < edges.size(); ++i) {
    if (edges[i].value != value) continue;
    makers = {edges[i].from};
    readers.push_back(edges[i].to);
    reach.data_[i] = Side::Downstream;
  }
  reach.follow(scene, std::move(makers), Side::Upstream);
  reach.follow(scene, std::move(readers), Side::Downstream);
  reach.settle(scene);
  return reach;
}

void Reach::follow(const Scene& scene, std::vector<int> items, Side side) {
  const layout::Hierarchy& hierarchy = *scene.hierarchy;
  std::vector<bool> seen(hierarchy.items.size(), false);
  for (const int item : items) seen[static_cast<size_t>(item)] = true;
  while (!items.empty()) {
    const int item = items.back();
    items.pop_back();
    for (const int index : side == Side::Upstream ? hierarchy.entering.of(item) : hierarchy.leaving.of(item)) {
      const layout::DataEdge& edge = hierarchy.edges[static_cast<size_t>(index)];
      if (data_[static_cast<size_t>(index)] == Side::None) data_[static_cast<size_t>(index)] = side;
      const int next = side == Side::Upstream ? edge.from : edge.to;
      if (seen[static_cast<size_t>(next)]) continue;
      seen[static_cast<size_t>(next)] = true;
      items.push_back(next);
    }
  }
}

void Reach::settle(const Scene& scene) {
  edges_.assign(scene.layout->edges.size(), Side::None);
  for (size_t i = 0; i < edges_.size(); ++i) {
    const layout::Edge& edge = scene.layout->edges[i];
    for (int k = 0; k < edge.dataCount && edges_[i] == Side::None; ++k)
      edges_[i] = data_[static_cast<size_t>(scene.layout->edgeData[static_cast<size_t>(edge.firstData + k)])];
  }
  data_ = {};
}

}  // namespace normlens::graphview
