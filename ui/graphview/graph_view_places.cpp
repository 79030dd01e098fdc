// GraphView: how deep groups are open, which way the data runs, back and forward, and the place a project keeps.
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
  if (shown_.scene.hierarchy != nullptr) showGroups(layout::defaultExpanded(*shown_.scene.hierarchy));
}

// ---- back and forward

void GraphView::rememberPlace() {
  if (const auto here = placeAt(shown_.scene, camera_, QRectF(rect()).center())) history_.leave(*here);
  Q_EMIT historyChanged();
}

void GraphView::goBack() {
  if (const auto here = placeAt(shown_.scene, camera_, QRectF(rect()).center())) showPlace(history_.back(*here));
}

void GraphView::goForward() {
  if (const auto here = placeAt(shown_.scene, camera_, QRectF(rect()).center())) showPlace(history_.forward(*here));
}

void GraphView::showPlace(const std::optional<Place>& place) {
  if (!place) return;
  Q_EMIT historyChanged();
  const int item = place->node >= 0 ? shown_.scene.hierarchy->itemOfId(place->node) : itemOfScope(place->scope);
  if (item < 0) return;
  userMoved_ = true;
  place_ = *place;
  shown_.moveItem = item;
  shown_.moveTo = MoveTo::Place;
  if (shown_.openAround(*shown_.scene.hierarchy, item) || worker_.busy()) {
    requestLayout();
  } else {
    restoreView();
  }
}

// ---- where the user is in the drawing, taken and put back, for projects

ViewPlace GraphView::place() const {
  ViewPlace place;
  if (shown_.scene.layout == nullptr) return place;
  for (const int group : shown_.open) place.openGroups.push_back(shown_.scene.hierarchy->path(group));
  std::sort(place.openGroups.begin(), place.openGroups.end());
  place.zoom = camera_.zoom;
  place.center = camera_.toWorld(QRectF(rect()).center());
  return place;
}

void GraphView::setPlace(const ViewPlace& place) {
  if (place.zoom <= 0) return;
  awaited_.place = place;
  std::sort(awaited_.place->openGroups.begin(), awaited_.place->openGroups.end());
  if (document_ != nullptr) requestLayout();
}

void GraphView::goToWantedPlace() {
  if (!awaited_.place) return;
  const double zoom = std::clamp(awaited_.place->zoom, Camera::kMinZoom, Camera::kMaxZoom);
  camera_ = Camera{zoom, {}}.placing(awaited_.place->center, QRectF(rect()).center());
  userMoved_ = true;
  shown_.moveTo = MoveTo::Nowhere;
  awaited_.place.reset();
}

// ---- the path under the pointer

void GraphView::followPath() {
  reach_ = Reach();
  if (!shown_.scene.empty() && !marks_.lighting.active() && !marks_.means.active() && !dragging_) {
    if (hover_.edge >= 0 && shown_.scene.valueOfEdge(hover_.edge) >= 0) {
      reach_ = Reach::ofValue(shown_.scene, shown_.scene.valueOfEdge(hover_.edge));
    } else if (hover_.box >= 0) {
      const layout::Box& box = shown_.scene.box(hover_.box);
      // The ground of an open group is under the pointer nearly always.
      if (box.kind != layout::BoxKind::Frame) reach_ = Reach::ofItem(shown_.scene, box.item);
    }
  }
  update();
}

}  // namespace normlens::graphview
