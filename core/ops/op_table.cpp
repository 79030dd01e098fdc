#include <array>

#include "core/ops/contraction.h"
#include "core/ops/rule_sets.h"
#include "core/ops/rules.h"

namespace normlens::ops {
namespace {

using graph::OpKind;
using enum VertexClass;

// The table: what a kind is in a zero-mean graph, its two rules, and why they are right.
constexpr std::array kRows = {
    OpRow{OpKind::Opaque, Opaque, opaqueZeroMean, opaqueShift, "nothing is claimed"},
    OpRow{OpKind::Identity, Scalar, identityZeroMean, identityShift, "y = x"},
    OpRow{OpKind::Cast, Scalar, castZeroMean, castShift,
          "y = x when no value is rounded; otherwise nothing is claimed"},
    OpRow{OpKind::Neg, Scalar, identityZeroMean, identityShift, "sum(-x) = -sum(x)"},
    OpRow{OpKind::Add, Residual, additionZeroMean, additionShift, "sum(a + b) = sum(a) + sum(b)"},
    OpRow{OpKind::Sub, Residual, additionZeroMean, additionShift,
          "sum(a - b) = sum(a) - sum(b); x - mean(x) sums to 0"},
    OpRow{OpKind::Mul, Scalar, productZeroMean, productShift, "sum(c x) = c sum(x) where c is equal over the group"},
    OpRow{OpKind::Div, Scalar, productZeroMean, productShift,
          "sum(x / c) = sum(x) / c where c is equal over the group"},
    OpRow{OpKind::Elementwise, Opaque, opaqueZeroMean, opaqueShift, "nothing is claimed"},
    OpRow{OpKind::Where, Scalar, whereZeroMean, whereShift, "a whole group comes from a or from b"},
    OpRow{OpKind::MaskedFill, Scalar, maskedFillZeroMean, maskedFillShift, "a whole group is x's or the fill"},
    OpRow{OpKind::Reshape, Scalar, reshapeZeroMean, reshapeShift, "patterns follow the row-major index, which stays"},
    OpRow{OpKind::Permute, Scalar, permuteZeroMean, permuteShift, "axes move with their factors"},
    OpRow{OpKind::Rearrange, Scalar, rearrangeZeroMean, rearrangeShift, "factors of the index move with their sums"},
    OpRow{OpKind::Expand, Scalar, expandZeroMean, expandShift,
          "sum over a repeated axis = its size times the sum over the rest"},
    OpRow{OpKind::Slice, Scalar, sliceZeroMean, sliceShift, "groups inside the window are x's groups"},
    OpRow{OpKind::Select, Scalar, selectZeroMean, selectShift, "a window of one index"},
    OpRow{OpKind::Split, Scalar, splitZeroMean, splitShift, "each output is a window"},
    OpRow{OpKind::Unbind, Scalar, unbindZeroMean, unbindShift, "each output is a window of one index"},
    OpRow{OpKind::Concat, Scalar, concatZeroMean, concatShift,
          "a group lies in one operand, or is the union of the operands' groups"},
    OpRow{OpKind::Stack, Scalar, stackZeroMean, stackShift, "as concatenation, along a new axis"},
    OpRow{OpKind::Roll, Scalar, rollZeroMean, rollShift, "a permutation inside or across whole groups"},
    OpRow{OpKind::Pad, Scalar, padZeroMean, padShift, "the padding adds 0 to a sum, or groups of 0"},
    OpRow{OpKind::Gather, Linear, gatherZeroMean, gatherShift, "each looked-up slice is one of x's"},
    OpRow{OpKind::Scatter, Scalar, scatterZeroMean, scatterShift, "each row is x's or the updates', or a sum of such"},
    OpRow{OpKind::MaskedCopy, Scalar, maskedCopyZeroMean, maskedCopyShift,
          "a whole row is x's or the source's next one"},
    OpRow{OpKind::Linear, Linear, contractionZeroMean, contractionShift,
          "sum_o sum_i W[o,i] x[i] = sum_i (sum_o W[o,i]) x[i]"},
    OpRow{OpKind::MatMul, Linear, contractionZeroMean, contractionShift, "as Linear"},
    OpRow{OpKind::AddMatMul, Linear, contractionZeroMean, contractionShift, "as Linear, plus a bias"},
    OpRow{OpKind::Einsum, Linear, contractionZeroMean, contractionShift, "as Linear, by labels"},
    OpRow{OpKind::Conv, Linear, contractionZeroMean, contractionShift,
          "as Linear over output channels, at each position"},
    OpRow{OpKind::Attention, Linear, contractionZeroMean, contractionShift,
          "y = P v: sums over v's last axis pass through P"},
    OpRow{OpKind::Recurrent, Opaque, opaqueZeroMean, opaqueShift, "nothing is claimed"},
    OpRow{OpKind::LayerNorm, ZeroMean, layerNormZeroMean, layerNormShift,
          "(x - mean)/sigma sums to 0 and ignores x's mean"},
    OpRow{OpKind::GroupNorm, Opaque, otherNormZeroMean, otherNormShift, "ignores a shift equal over its own groups"},
    OpRow{OpKind::InstanceNorm, Opaque, otherNormZeroMean, otherNormShift, "ignores a shift equal over its own groups"},
    OpRow{OpKind::BatchNorm, Opaque, batchNormZeroMean, batchNormShift, "without its scale it adds a constant"},
    OpRow{OpKind::RmsNorm, Opaque, otherNormZeroMean, otherNormShift, "nothing is claimed"},
    OpRow{OpKind::Softmax, Opaque, softmaxZeroMean, softmaxShift, "exp(x + c) / sum exp(x + c) = exp(x) / sum exp(x)"},
    OpRow{OpKind::Reduce, Linear, reduceZeroMean, reduceShift, "sums over different axes commute"},
    OpRow{OpKind::Mix, Linear, mixZeroMean, mixShift,
          "one map for all channels: the sum over channels passes through it"},
    OpRow{OpKind::ShapeQuery, Opaque, shapeQueryZeroMean, shapeQueryShift, "reads no values; zeros sum to 0"},
    OpRow{OpKind::If, Scalar, controlZeroMean, controlShift, "one of the branches"},
    OpRow{OpKind::Loop, Scalar, controlZeroMean, controlShift, "induction over passes"},
};

constexpr bool inOrder() {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].kind != static_cast<OpKind>(i)) return false;
  }
  return kRows.size() == static_cast<size_t>(OpKind::Count_);
}
static_assert(inOrder(), "one row per kind, in the order of the enum");

}  // namespace

const OpRow& opRow(graph::OpKind kind) { return kRows.at(static_cast<size_t>(kind)); }

}  // namespace normlens::ops
