#include "ui/graphview/history.h"

#include <limits>

namespace normlens::graphview {

std::optional<ViewAnchor> viewAnchorAt(const Scene& scene, const Camera& camera, const QPointF& screen) {
  if (scene.empty()) return std::nullopt;
  const QPointF middle = camera.toWorld(screen);
  const layout::Box* nearest = nullptr;
  double least = std::numeric_limits<double>::max();
  for (const layout::Box& box : scene.layout->boxes) {
    const double distance = (box.rect.center() - middle).manhattanLength();
    if (box.kind != layout::BoxKind::Frame && distance < least) nearest = &box, least = distance;
  }
  if (nearest == nullptr) return std::nullopt;
  int item = nearest->item;
  while (scene.hierarchy->item(item).repeats > 1) item = scene.hierarchy->item(item).children.front();
  return ViewAnchor{scene.hierarchy->nodeId(item), scene.hierarchy->scopeId(item),
                    camera.toScreen(nearest->rect.center()), camera.zoom};
}

}  // namespace normlens::graphview
