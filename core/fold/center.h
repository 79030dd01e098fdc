// Group means out of constants.
//
// Every function reads a strided view and fills `out`, which has the view's element count and type. `out` is laid out
// with outputStrides(in): the view's own memory order where that is dense, row-major otherwise. Means are
// taken in float64 whatever the type; each result is rounded once. float16, bfloat16, float32 and float64. The view may
// start at any address, as tensors in mapped files do.
//
// Thread: `threads` workers at most are started and joined inside each call; no shared state.
// Errors: Unsupported for other element types, Refused where a group to center holds a number that is not finite (out
// is then undefined), Internal where pattern, shape and buffer do not fit together.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/graph/types.h"
#include "core/ops/pattern.h"

namespace normlens::fold {

// The strides that `out` of the functions below has, in elements.
[[nodiscard]] std::vector<int64_t> outputStrides(const graph::TensorView& in);

// One tensor to center over `pattern`: y = x - mean(group of x) inside the region, y = x outside.
// A pattern that sums nothing makes every element its own group, so that the region becomes 0.
// Source: column centering (I - 11^T/m) W of papers 000 and 001.
struct CenterJob {
  graph::TensorView in;
  ops::Pattern pattern;
  std::span<std::byte> out;
};

// Independent tensors in one parallel sweep over all of them: no worker waits for the others' last row.
[[nodiscard]] Status centerTensors(std::span<const CenterJob> jobs, int threads);

// Several tensors whose k-th groups (row-major order of the kept positions inside the region) form one group: the
// joint mean is subtracted from all parts. One part is the same as centerTensors.
[[nodiscard]] Status centerJointly(std::span<const CenterJob> parts, int threads);

}  // namespace normlens::fold
