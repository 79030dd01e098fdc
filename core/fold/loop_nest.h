// A Pattern over a strided tensor as a nest of counted loops, kept positions apart from summed ones.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/graph/types.h"
#include "core/ops/pattern.h"

namespace normlens::fold {

// One loop: `extent` steps of these strides (in elements) through the input and the output.
struct LoopDim {
  int64_t extent = 1;
  int64_t in = 0;
  int64_t out = 0;
};

// Offsets of element 0 of the region, and the loops over it. Loops of extent 1 are gone.
struct LoopNest {
  int64_t in = 0;
  int64_t out = 0;
  std::vector<LoopDim> kept;    // row-major order: their combined index numbers the groups
  std::vector<LoopDim> summed;  // within a group
};

[[nodiscard]] int64_t iterations(const std::vector<LoopDim>& loops);

// Errors: Internal where the pattern's factors cannot be expressed in the tensor's strides.
[[nodiscard]] Result<LoopNest> makeLoopNest(const graph::TensorView& in, const std::vector<int64_t>& outStrides,
                                            const ops::Pattern& pattern);

// Merges neighbors that walk memory like one loop; the combined index stays the same.
void mergeLoops(std::vector<LoopDim>& loops);
// Orders loops by the output's strides (largest first) and merges them: the combined index changes.
void sortAndMergeLoops(std::vector<LoopDim>& loops);

// Holds where iteration `index` of the combined loops starts.
struct Offset {
  int64_t in = 0;
  int64_t out = 0;
};
[[nodiscard]] Offset offsetOf(const std::vector<LoopDim>& loops, int64_t index);

// Calls body(offset) for every combination of the loops, the last one fastest.
template <class Body>
void forEachOffset(const std::vector<LoopDim>& loops, Offset start, Body body) {
  const size_t depth = loops.size();
  std::vector<int64_t> index(depth, 0);
  const int64_t count = iterations(loops);
  for (int64_t i = 0; i < count; ++i) {
    body(start);
    for (size_t d = depth; d-- > 0;) {
      start.in += loops[d].in;
      start.out += loops[d].out;
      if (++index[d] < loops[d].extent) break;
      start.in -= loops[d].in * loops[d].extent;
      start.out -= loops[d].out * loops[d].extent;
      index[d] = 0;
    }
  }
}

}  // namespace normlens::fold
