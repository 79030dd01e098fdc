// GraphView: how deep groups stand open, which way the data runs, back and forward.
#include <algorithm>
#include <limits>
#include <utility>

#include "ui/graphview/graph_view.h"

namespace normlens::graphview {

void GraphView::setOptions(const layout::HierarchyOptions& options) {
  if (options == options_) return;
  options_ = options;
  if (document_ != nullptr) rebuildHierarchy();
}

void GraphView::setDirection(layout::Direction direction) {
  if (direction == direction_) return;
  direction_ = direction;
  if (document_ == nullptr) return;
  shown_.anchorItem = -1;
  userMoved_ = false;
  shown_.moveTo = MoveTo::FirstLook;
  requestLayout();
}

void GraphView::expandToDepth(int levels) {
  if (shown_.scene.hierarchy == nullptr) return;
  rememberPlace();
  shown_.open = layout::GroupSet{0};
  shown_.openForLight.clear();
  std::vector<int> level{0};
  for (int depth = 0; depth < levels && !level.empty(); ++depth) {
    std::vector<int> below;
    for (const int group : level) {
      for (const int child : shown_.scene.hierarchy->item(group).children) {
        const layout::Item& item = shown_.scene.hierarchy->item(child);
        if (item.kind == layout::ItemKind::Group && !item.slim) below.push_back(child);
      }
    }
    shown_.open.insert(below.begin(), below.end());
    level = std::move(below);
  }
  userMoved_ = false;
  shown_.moveTo = MoveTo::FirstLook;
  requestLayout();
}

void GraphView::expandAll() { expandToDepth(std::numeric_limits<int>::max()); }

void GraphView::collapseAll() { expandToDepth(0); }

// As a model is shown at first.
void GraphView::resetGroups() {
  if (shown_.scene.hierarchy == nullptr) return;
  rememberPlace();
  const std::vector<int> usual = layout::defaultExpanded(*shown_.scene.hierarchy);
  shown_.open = layout::GroupSet(usual.begin(), usual.end());
  shown_.openForLight.clear();
  userMoved_ = false;
  shown_.moveTo = MoveTo::FirstLook;
  requestLayout();
}

// ---- back and forward

std::optional<Place> GraphView::currentPlace() const {
  if (shown_.scene.empty()) return std::nullopt;
  const QPointF middle = camera_.toWorld(QRectF(rect()).center());
  const layout::Box* nearest = nullptr;
  double least = std::numeric_limits<double>::max();
  for (const layout::Box& box : shown_.scene.layout->boxes) {
    const double distance = (box.rect.center() - middle).manhattanLength();
    if (box.kind == layout::BoxKind::Frame || distance >= least) continue;
    nearest = &box;
    least = distance;
  }
  if (nearest == nullptr) return std::nullopt;
  int item = nearest->item;
  while (shown_.scene.hierarchy->item(item).repeats > 1) item = shown_.scene.hierarchy->item(item).children.front();
  const layout::Item& it = shown_.scene.hierarchy->item(item);
  Place place{-1, -1, camera_.toScreen(nearest->rect.center()), camera_.zoom};
  const auto& document = *shown_.scene.hierarchy->document;
  if (it.node >= 0) {
    place.node = document.nodes[static_cast<size_t>(it.node)].id;
  } else if (it.scope >= 0) {
    place.scope = document.scopes[static_cast<size_t>(it.scope)].id;
  }
  return place;
}

void GraphView::rememberPlace() {
  if (const auto here = currentPlace()) history_.leave(*here);
  Q_EMIT historyChanged();
}

void GraphView::goBack() {
  const auto here = currentPlace();
  if (!here) return;
  if (const auto there = history_.back(*here)) showPlace(*there);
}

void GraphView::goForward() {
  const auto here = currentPlace();
  if (!here) return;
  if (const auto there = history_.forward(*here)) showPlace(*there);
}

void GraphView::showPlace(const Place& place) {
  Q_EMIT historyChanged();
  const int item = place.node >= 0 ? shown_.scene.hierarchy->itemOfId(place.node) : itemOfScope(place.scope);
  if (item < 0) return;
  userMoved_ = true;
  place_ = place;
  shown_.moveItem = item;
  shown_.moveTo = MoveTo::Place;
  if (openGroupsAround(item) || worker_.busy()) {
    requestLayout();
  } else {
    restoreView(camera_);
  }
}

// ---- the path under the pointer

void GraphView::followPath() {
  reach_ = Reach();
  if (!shown_.scene.empty() && !lighting_.active() && !means_.active() && !dragging_) {
    if (hover_.edge >= 0 && shown_.scene.valueOfEdge(hover_.edge) >= 0) {
      reach_ = Reach::ofValue(shown_.scene, shown_.scene.valueOfEdge(hover_.edge));
    } else if (hover_.box >= 0) {
      const layout::Box& box = shown_.scene.layout->boxes[static_cast<size_t>(hover_.box)];
      // The ground of an open group is under the pointer nearly always.
      if (box.kind != layout::BoxKind::Frame) reach_ = Reach::ofItem(shown_.scene, box.item);
    }
  }
  update();
}

// ---- along the edges

int GraphView::boxAlongEdges(int from, bool forward) const {
  const layout::Hierarchy& hierarchy = *shown_.scene.hierarchy;
  const auto& boxes = shown_.scene.layout->boxes;
  const layout::Box& here = boxes[static_cast<size_t>(from)];
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
    for (const int e : forward ? hierarchy.leaving.of(index) : hierarchy.entering.of(index)) {
      const layout::DataEdge& edge = hierarchy.edges[static_cast<size_t>(e)];
      const int box = shown_.scene.layout->shownBox(hierarchy, forward ? edge.to : edge.from);
      if (box < 0 || box == from || hierarchy.contains(here.item, boxes[static_cast<size_t>(box)].item)) continue;
      const double distance = (boxes[static_cast<size_t>(box)].rect.center() - here.rect.center()).manhattanLength();
      if (distance >= least) continue;
      best = box;
      least = distance;
    }
  }
  return best;
}

}  // namespace normlens::graphview
