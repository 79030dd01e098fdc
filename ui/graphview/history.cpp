#include "ui/graphview/history.h"

#include <limits>

namespace normlens::graphview {

std::optional<Place> placeAt(const Scene& scene, const Camera& camera, const QPointF& screen) {
  if (scene.empty()) return std::nullopt;
  const QPointF middle = camera.toWorld(screen);
  const layout::Box* nearest = nullptr;
  double least = std::numeric_limits<double>::max();
  for (const layout::Box& box : scene.layout->boxes) {
    const double distance = (box.rect.center() - middle).manhattanLength();
    if (box.kind == layout::BoxKind::Frame || distance >= least) continue;
    nearest = &box;
    least = distance;
  }
  if (nearest == nullptr) return std::nullopt;
  int item = nearest->item;
  while (scene.hierarchy->item(item).repeats > 1) item = scene.hierarchy->item(item).children.front();
  const layout::Item& it = scene.hierarchy->item(item);
  Place place{-1, -1, camera.toScreen(nearest->rect.center()), camera.zoom};
  const auto& document = *scene.hierarchy->document;
  if (it.node >= 0) {
    place.node = document.nodes[static_cast<size_t>(it.node)].id;
  } else if (it.scope >= 0) {
    place.scope = document.scopes[static_cast<size_t>(it.scope)].id;
  }
  return place;
}

}  // namespace normlens::graphview
