// GraphView: where the user is in the drawing, taken and put back, for projects.
#include <algorithm>

#include "ui/graphview/graph_view.h"

namespace normlens::graphview {

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

}  // namespace normlens::graphview
