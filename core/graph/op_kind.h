// The op kinds that the analysis knows. A format's reader maps its own op names to these ("lowering").
//
// Operands are tensors (or scalars) only: lists and tuples are flattened by the reader, an absent optional operand is
// kNoValue. Axes in attributes are normalized to [0, rank). An attribute that the file computes at run time is left
// out: the rules then assume nothing about it. Shapes come from the values (one probe run), never from attributes.
// "ones" of a norm, Softmax or Reduce lists axes of x that the file fixes to size 1 for every input.
// "inside" (true) marks a node whose results exist only within an operator of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace normlens::graph {

enum class OpKind : uint8_t {
  Opaque,        // anything not listed: nothing is known, nothing is tolerated
  Identity,      // [x] -> y, same elements in the same order (dropout in eval, contiguous, detach, clone, alias)
  Cast,          // [x] -> y of another element type; whether it rounds is read off the two dtypes
  Neg,           // [x]
  Add,           // [a, b]: a + alpha*b with broadcasting (alpha is a literal and does not matter)
  Sub,           // [a, b]: a - alpha*b
  Mul,           // [a, b] with broadcasting
  Div,           // [a, b]: a / b true division
  Elementwise,   // [x...] any other pointwise function with broadcasting: relu, gelu, exp, pow, compare, clamp ...
  Where,         // [condition, a, b]
  MaskedFill,    // [x, mask, value]
  Reshape,       // [x, sizes?] same elements in row-major order: view, reshape, flatten, squeeze, unsqueeze.
                 //     ones: ints, axes of y that have size 1 for every input, where the file writes its sizes.
                 //     computed: ints, axes of y whose size is neither written nor that of an axis of x: a run decides
  Permute,       // [x] perm: ints, y axis i is x axis perm[i]
  Rearrange,     // [x] inner: the sizes that x's row-major index is cut into; perm: which of them y's index is made of,
                 //     in order (pixel shuffle, depth to space, channel shuffle)
  Expand,        // [x] broadcast to a larger shape (expand, expand_as, broadcast_to)
  Slice,         // [x] axis, start, end, step; `start` and `end` absent when computed at run time. from_end (true): one
                 //     of them is counted from the end of an axis whose size the file does not state
  Select,        // [x] axis, index (absent when computed at run time), from_end; the axis disappears
  Split,         // [x] -> y0, y1 ... in order along `axis` (split, chunk, tensor_split). sizes: ints, of the outputs,
                 //     where the file writes them. divides (true): into parts that follow from the axis' size alone
  Unbind,        // [x] -> y0, y1 ... one per index of `axis`, which disappears
  Concat,        // [x...] axis
  Stack,         // [x...] axis: a new axis at that place in y
  Roll,          // [x] axes: a permutation of positions along each axis (roll, flip)
  Pad,           // [x] axes: those that grow or shrink, start: elements before per listed axis, absent where a run
                 //     computes the amounts or one is negative; value: the fill (double), absent: the border repeats x
  Gather,        // [x, index...] axis: whole slices of x by run-time index (index_select, embedding = axis 0 of a
                 //     table). count (1): so many axes from `axis` on are indexed together and make way for the index's
  Scatter,       // [x, updates, index...] axis, count (1): x, with the updates written to the positions along so many
                 //     axes from `axis` on that an index names. made: how many axes the updates have in their place;
                 //     they broadcast otherwise. reduction: "none" | "add" | "mean", of what was there and all updates,
                 //     or "sum" of the updates alone where there are any.
                 //     elements (true): of one axis and element by element, y[i, index[i, j], k] = updates[i, j, k]
  MaskedCopy,    // [x, mask, source] the source's elements in order where the mask is true, x's elsewhere
  Linear,        // [x, W, b?]: x[..., in] W[out, in] (+ b[out])
  MatMul,        // [a, b] numpy matmul rules (mm, bmm, matmul, mv)
  AddMatMul,     // [c, a, b]: beta*c + alpha*(a @ b), c broadcasts (addmm, baddbmm)
  Einsum,        // [operands...] equation: string in letters (no ellipsis; the reader expands it)
  Conv,          // [x, W, b?] x[N, C, ...], W[O, C/groups, k...]; groups; transposed: W[C, O/groups, k...]
  Attention,     // [q, k, v, mask?] scaled dot product attention, y[..., t, d_v]; heads of v may be shared. With
                 //     `projection` (operand index of W[out, in], its bias? behind it): y is that linear of the heads
  Recurrent,     // [x, ...] lstm, gru, rnn over whole sequences
  LayerNorm,     // [x, gamma?, beta?] axes: ints (trailing), eps -> y, mean?, inverse deviation?
                 //     normalized_shape: ints, the sizes of those axes, where the file writes them (RmsNorm, too)
  GroupNorm,     // [x, gamma?, beta?] groups, eps over (C/groups, spatial...)
  InstanceNorm,  // [x, ...] per channel over the spatial axes
  BatchNorm,     // [x, gamma?, beta?, mean, variance] eps, in eval mode: an affine per channel (axis 1). With
                 //     `shift_operand` (2 or 3), set by the analysis: y = x + or - that operand, no scale
  RmsNorm,       // [x, gamma?]
  Softmax,       // [x] axis (softmax and log_softmax): a shift that is constant along the axis changes nothing
  Reduce,        // [x] op: "mean" | "sum" | other, axes: ints, keepdim: bool
  Mix,           // [x] axes: ints. A linear map of positions along `axes`, the same for all other indices: average
                 //     pooling, linear or nearest interpolation, cumulative sum. ones: as of Reshape
  ShapeQuery,    // [x...] reads shapes or types only: size, dim, numel, zeros_like, type_as's second operand.
                 //     fill: the number (double) that every element is, rounded to y's type; absent: no such tensor
  If,            // [condition], two blocks; outputs = the blocks' returns
  Loop,          // [trip count, condition, carried...], one block: params [iteration, carried...], returns
                 //     [condition, carried...]; outputs = carried
  Count_,
};

[[nodiscard]] std::string_view opKindName(OpKind kind);
// So many operands, from the first one on, have to be there.
[[nodiscard]] size_t requiredOperands(OpKind kind);

}  // namespace normlens::graph
