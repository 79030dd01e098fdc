// Cuts up the axes of a value for a run-time centering: the same for every format's own ops. Thread: pure.
#pragma once

#include <vector>

#include "core/graph/types.h"
#include "core/ops/pattern.h"

namespace normlens::formats {

// By axis its factors, outermost first; one factor: the axis stays whole. At most one factor of an axis that is cut is
// kept, so that its size need not be written down. Throws EditRefused where the pattern cuts across axes, or would fix
// a size that may differ from call to call.
[[nodiscard]] ops::FactorsPerDim centeringAxes(const ops::Pattern& pattern, const graph::Shape& shape);

}  // namespace normlens::formats
