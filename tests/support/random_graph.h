// Random models of the kind that LayerNorms live in: residual streams, gates, heads, splits, loops, tied tensors,
// leaks.
#pragma once

#include <cstdint>

#include "core/graph/graph.h"

namespace normlens::testing {

struct ModelSize {
  int64_t batch = 2;
  int64_t tokens = 3;
  int64_t ones = 1;  // of the axes of inputs that have size 1 in the probe; else 1 or the width
};

// The same seed gives the same model at every size.
[[nodiscard]] graph::Graph randomModel(unsigned seed, const ModelSize& size, int steps);

}  // namespace normlens::testing
