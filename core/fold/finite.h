// Finds which weights hold infinite or NaN values: such have no mean, and centering would spread them.
#pragma once

#include <span>
#include <vector>

#include "core/graph/types.h"

namespace normlens::fold {

// By weight. All are read, at the memory's speed; finite values so large that their sum is not count too. A weight that
// is not of a real floating type, or not in memory, holds none.
[[nodiscard]] std::vector<bool> holdNonFinite(std::span<const graph::TensorView> weights, int threads);

}  // namespace normlens::fold
