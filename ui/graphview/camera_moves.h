// Where the camera goes to show something. Areas are parts of the screen that are free for it.
#pragma once

#include "ui/graphview/camera.h"
#include "ui/graphview/lighting.h"
#include "ui/layout/layout.h"

namespace normlens::graphview {

// Everything if it can be read like that, else the beginning of the model.
[[nodiscard]] Camera firstLook(const layout::Layout& layout, const QRectF& area);
// A box, at a zoom near the one of `now`; of one that is taller than the area its top.
[[nodiscard]] Camera lookAtBox(const QRectF& box, const Camera& now, const QRectF& area);
// The norm, the blocker and their groups if names can be read like that, else the norm.
[[nodiscard]] Camera lookAtLight(const Lighting& lighting, const QRectF& area);
// Moved so far that a corner of the graph stays in sight.
[[nodiscard]] Camera keptInSight(Camera camera, const QRectF& graph, const QSizeF& viewport);

}  // namespace normlens::graphview
