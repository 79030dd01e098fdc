#include "core/fold/loop_nest.h"

#include <algorithm>

namespace normlens::fold {
namespace {

bool rowMajor(const graph::Shape& shape, const std::vector<int64_t>& strides) {
  int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

void addFactor(LoopNest& nest, const ops::Factor& factor, int64_t in, int64_t out) {
  nest.in += factor.begin * in;
  nest.out += factor.begin * out;
  if (factor.extent() == 1) return;
  (factor.summed ? nest.summed : nest.kept).push_back({factor.extent(), in, out});
}

// Strides follow from the factor sizes alone.
LoopNest denseNest(const ops::Pattern& pattern) {
  LoopNest nest;
  std::vector<int64_t> strides(pattern.factors.size(), 1);
  for (size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * pattern.factors[i].size;
  for (size_t i = 0; i < strides.size(); ++i) addFactor(nest, pattern.factors[i], strides[i], strides[i]);
  return nest;
}

}  // namespace

int64_t iterations(const std::vector<LoopDim>& loops) {
  int64_t count = 1;
  for (const auto& loop : loops) count *= loop.extent;
  return count;
}

Result<LoopNest> makeLoopNest(const graph::TensorView& in, const std::vector<int64_t>& outStrides,
                              const ops::Pattern& pattern) {
  if (rowMajor(in.shape, in.strides) && rowMajor(in.shape, outStrides)) return denseNest(pattern);
  const auto perDim = ops::alignTo(pattern, in.shape);
  if (!perDim) {
    return fail(ErrorCode::Internal, "the groups to center cut across the axes of a strided tensor");
  }
  LoopNest nest;
  for (size_t dim = 0; dim < perDim->size(); ++dim) {
    int64_t inner = 1;
    for (const auto& factor : (*perDim)[dim]) inner *= factor.size;
    for (const auto& factor : (*perDim)[dim]) {
      inner /= factor.size;
      addFactor(nest, factor, in.strides[dim] * inner, outStrides[dim] * inner);
    }
  }
  return nest;
}

void mergeLoops(std::vector<LoopDim>& loops) {
  std::vector<LoopDim> merged;
  for (const auto& loop : loops) {
    if (!merged.empty() && merged.back().in == loop.in * loop.extent && merged.back().out == loop.out * loop.extent) {
      merged.back() = {merged.back().extent * loop.extent, loop.in, loop.out};
    } else {
      merged.push_back(loop);
    }
  }
  loops = std::move(merged);
}

void sortAndMergeLoops(std::vector<LoopDim>& loops) {
  std::stable_sort(loops.begin(), loops.end(), [](const LoopDim& a, const LoopDim& b) { return a.out > b.out; });
  mergeLoops(loops);
}

Offset offsetOf(const std::vector<LoopDim>& loops, int64_t index) {
  Offset offset;
  for (size_t d = loops.size(); d-- > 0;) {
    offset.in += loops[d].in * (index % loops[d].extent);
    offset.out += loops[d].out * (index % loops[d].extent);
    index /= loops[d].extent;
  }
  return offset;
}

}  // namespace normlens::fold
