// Finds which axes of what a reshape reads become which axes of what it makes. Private to ops.
#pragma once

#include <cstddef>
#include <vector>

#include "core/graph/types.h"

namespace normlens::ops {

// Neighboring axes of x that neighboring axes of y are made of, as few as can be. Axes of size 1 are in none.
struct AxisGroup {
  std::vector<size_t> in, out;
};

[[nodiscard]] std::vector<AxisGroup> groupsOf(const graph::Shape& in, const graph::Shape& out);

}  // namespace normlens::ops
