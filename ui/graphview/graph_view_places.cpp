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

void GraphView::showGroups(layout::GroupSet groups) {
  rememberPlace();
  shown_.open = std::move(groups);
  shown_.openForLight.clear();
  userMoved_ = false;
  shown_.moveTo = MoveTo::FirstLook;
  requestLayout();
}

void GraphView::expandToDepth(int levels) {
  if (shown_.scene.hierarchy != nullptr) showGroups(groupsToDepth(*shown_.scene.hierarchy, levels));
}

void GraphView::expandAll() { expandToDepth(std::numeric_limits<int>::max()); }

void GraphView::collapseAll() { expandToDepth(0); }

void GraphView::resetGroups() {
  if (shown_.scene.hierarchy == nullptr) return;
  const std::vector<int> usual = layout::defaultExpanded(*shown_.scene.hierarchy);
  showGroups(layout::GroupSet(usual.begin(), usual.end()));
}

// ---- back and forward

void GraphView::rememberPlace() {
  if (const auto here = placeAt(shown_.scene, camera_, QRectF(rect()).center())) history_.leave(*here);
  Q_EMIT historyChanged();
}

void GraphView::goBack() {
  const auto here = placeAt(shown_.scene, camera_, QRectF(rect()).center());
  if (!here) return;
  if (const auto there = history_.back(*here)) showPlace(*there);
}

void GraphView::goForward() {
  const auto here = placeAt(shown_.scene, camera_, QRectF(rect()).center());
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
  if (shown_.openAround(*shown_.scene.hierarchy, item) || worker_.busy()) {
    requestLayout();
  } else {
    restoreView(camera_);
  }
}

// ---- the path under the pointer

void GraphView::followPath() {
  reach_ = Reach();
  if (!shown_.scene.empty() && !marks_.lighting.active() && !marks_.means.active() && !dragging_) {
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

}  // namespace normlens::graphview
