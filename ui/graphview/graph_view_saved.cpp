// GraphView: where the user is in the drawing, taken and put back, for projects.
#include <algorithm>

#include "ui/graphview/graph_view.h"

namespace normlens::graphview {

ViewPlace GraphView::place() const {
  ViewPlace place;
  if (scene_.layout == nullptr || hierarchy_ == nullptr || !open_) return place;
  for (const int group : *open_) place.openGroups.push_back(hierarchy_->path(group));
  std::sort(place.openGroups.begin(), place.openGroups.end());
  place.zoom = camera_.zoom;
  place.center = camera_.toWorld(QRectF(rect()).center());
  return place;
}

void GraphView::setPlace(const ViewPlace& place) {
  if (place.zoom <= 0) return;
  wantedPlace_ = place;
  std::sort(wantedPlace_->openGroups.begin(), wantedPlace_->openGroups.end());
  if (document_ != nullptr) requestLayout();
}

// True when other groups stand open now.
bool GraphView::openWantedGroups() {
  if (!wantedPlace_) return false;
  layout::GroupSet wanted;
  wanted.insert(0);
  for (size_t i = 1; i < hierarchy_->items.size(); ++i) {
    const int group = static_cast<int>(i);
    if (hierarchy_->item(group).kind != layout::ItemKind::Group) continue;
    const auto& paths = wantedPlace_->openGroups;
    if (std::binary_search(paths.begin(), paths.end(), hierarchy_->path(group))) wanted.insert(group);
  }
  if (wanted == *open_) return false;
  *open_ = std::move(wanted);
  return true;
}

void GraphView::goToWantedPlace() {
  if (!wantedPlace_) return;
  const double zoom = std::clamp(wantedPlace_->zoom, Camera::kMinZoom, Camera::kMaxZoom);
  camera_ = Camera{zoom, {}}.placing(wantedPlace_->center, QRectF(rect()).center());
  userMoved_ = true;
  moveTo_ = MoveTo::Nowhere;
  wantedPlace_.reset();
}

}  // namespace normlens::graphview
