// Computes what one edit makes of one weight, block by block, where its bytes are wanted.
//
// Every function takes a strided view, `in`, and returns its result's elements in the order of outputStrides(in): the
// view's own memory order where that is dense, row-major otherwise. narrowed() alone changes the shape. Sums and means
// are taken in float64 whatever the type; each result is rounded once. float16, bfloat16, float32 and float64. The view
// may start at any address, as tensors in mapped files do, and stays in memory as long as the blocks.
//
// Thread: `threads` workers at most are started and joined inside each call; blocks may be read by any number of
// threads. Errors: Unsupported for other element types, Refused where a group to center holds a number that is not
// finite, Internal where pattern, shape and sizes do not fit together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/fold/stream_edits.h"
#include "core/graph/types.h"
#include "core/ops/pattern.h"

namespace normlens::fold {

// Fills `out`, which is aligned to its elements, with as many of them as it has room for, from the `first` on. Refused
// as above; `out` is then undefined.
using Blocks = std::function<Status(int64_t first, std::span<std::byte> out)>;

// In elements.
[[nodiscard]] std::vector<int64_t> outputStrides(const graph::TensorView& in);

// y = x - mean(group of x) inside the region, y = x outside. A pattern that sums nothing makes every element its own
// group, so that the region becomes 0. Source: column centering (I - 11^T/m) W of papers 000 and 001.
[[nodiscard]] Result<Blocks> centered(const graph::TensorView& in, const ops::Pattern& pattern, int threads);

// Several tensors whose k-th groups (row-major order of the kept positions inside the region) form one group.
struct CenterPart {
  graph::TensorView in;
  ops::Pattern pattern;
};
using Means = std::shared_ptr<const std::vector<double>>;
// By group. Refused where one is not finite.
[[nodiscard]] Result<Means> jointMeans(std::span<const CenterPart> parts);
[[nodiscard]] Result<Blocks> centeredJointly(const CenterPart& part, Means means);

// y = x * factor[i] + addend[i], i the index along axis `dim`. An empty addend adds nothing.
struct ChannelScale {
  std::vector<double> factor, addend;
  int dim = 0;
};
[[nodiscard]] Result<Blocks> scaled(const graph::TensorView& in, ChannelScale scale);

// A weight of two axes, `inputDim` the one that is summed, times a vector.
struct Product {
  graph::TensorView weight;
  int inputDim = 0;
  std::vector<double> vector;
};
// bias + W vector: docs/method.md 8.2. Errors: also Refused where a finite bias would become infinite.
[[nodiscard]] Result<Blocks> shifted(const graph::TensorView& bias, const Product& product, int threads);
// W vector, by output, for a product whose sizes fit.
[[nodiscard]] std::vector<double> productOf(const Product& product, int threads);

// The coordinates of a narrow stream along `dim`, and zeros, in the order of narrowLayout(): y = H (factor * x) without
// the last, see stream_edits.h. Errors: also Refused where a result is not finite.
struct Narrowing {
  Channels channels;
  int dim = 0;
  std::vector<double> factor;  // by channel, `channels.full` of them
};
// Type, shape and strides of the result, without data: the axes lie in memory in the order that they have in `in`.
[[nodiscard]] graph::TensorView narrowLayout(const graph::TensorView& in, const Narrowing& how);
[[nodiscard]] Result<Blocks> narrowed(const graph::TensorView& in, Narrowing how, int threads);

}  // namespace normlens::fold
