// Finds the box that an arrow key goes to.
#pragma once

#include "ui/graphview/scene.h"

namespace normlens::graphview {

// Along the data: the nearest box at the other end of an edge. Else, and sideways, the nearest box in that direction;
// what lies off to the side counts double. current -1: the box nearest to `middle`, in world units. -1: there is none.
[[nodiscard]] int boxTowards(const Scene& scene, int current, const QPointF& middle, int dx, int dy);

}  // namespace normlens::graphview
