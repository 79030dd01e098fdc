// Describes a box or an edge under the pointer.
#pragma once

#include <QString>

#include "ui/graphview/marks/lighting.h"
#include "ui/graphview/marks/norm_verdicts.h"
#include "ui/graphview/scene.h"

namespace normlens::graphview {

// Rich text for a tooltip: a name, what it is or is made of, its shape, verdicts, and the highlight's note on it.
// Empty where nothing was hit.
[[nodiscard]] QString hitText(const Scene& scene, const Hit& hit, const NormVerdicts& verdicts,
                              const Lighting& lighting);

}  // namespace normlens::graphview
