#include <array>

#include "core/ops/contraction.h"
#include "core/ops/rule_sets.h"
#include "core/ops/rules.h"
#include "core/ops/size_question.h"

namespace normlens::ops {
namespace {

using enum NodeClass;

// The table: what a kind is in a zero-mean graph, its rules, and why the first two are right.
constexpr std::array kRows = {
    OpRow{OpKind::Opaque, Opaque, opaqueZeroMean, opaqueShift, ownSize, "nothing is claimed"},
    OpRow{OpKind::Identity, Scalar, identityZeroMean, identityShift, sameSize, "y = x"},
    OpRow{OpKind::Cast, Scalar, castZeroMean, castShift, sameSize,
          "y = x when no value is rounded; otherwise nothing is claimed"},
    OpRow{OpKind::Neg, Scalar, identityZeroMean, identityShift, sameSize, "sum(-x) = -sum(x)"},
    OpRow{OpKind::Add, Residual, additionZeroMean, additionShift, broadcastSize, "sum(a + b) = sum(a) + sum(b)"},
    OpRow{OpKind::Sub, Residual, additionZeroMean, additionShift, broadcastSize,
          "sum(a - b) = sum(a) - sum(b); x - mean(x) sums to 0"},
    OpRow{OpKind::Mul, Scalar, productZeroMean, productShift, broadcastSize,
          "sum(c x) = c sum(x) where c is equal over the group"},
    OpRow{OpKind::Div, Scalar, productZeroMean, productShift, broadcastSize,
          "sum(x / c) = sum(x) / c where c is equal over the group"},
    OpRow{OpKind::Elementwise, Opaque, opaqueZeroMean, opaqueShift, broadcastSize, "nothing is claimed"},
    OpRow{OpKind::Where, Scalar, whereZeroMean, whereShift, broadcastSize, "a whole group comes from a or from b"},
    OpRow{OpKind::MaskedFill, Scalar, maskedFillZeroMean, maskedFillShift, broadcastSize,
          "a whole group is x's or the fill"},
    OpRow{OpKind::Reshape, Scalar, reshapeZeroMean, reshapeShift, reshapeSize,
          "patterns follow the row-major index, which stays"},
    OpRow{OpKind::Permute, Scalar, permuteZeroMean, permuteShift, permuteSize, "axes move with their factors"},
    OpRow{OpKind::Rearrange, Scalar, rearrangeZeroMean, rearrangeShift, ownSize,
          "factors of the index move with their sums"},
    OpRow{OpKind::Expand, Scalar, expandZeroMean, expandShift, expandSize,
          "sum over a repeated axis = its size times the sum over the rest"},
    OpRow{OpKind::Slice, Scalar, cutZeroMean, cutShift, windowSize, "groups inside the window are x's groups"},
    OpRow{OpKind::Select, Scalar, cutZeroMean, cutShift, selectSize, "a window of one index"},
    OpRow{OpKind::Split, Scalar, cutZeroMean, cutShift, windowSize, "each output is a window"},
    OpRow{OpKind::Unbind, Scalar, cutZeroMean, cutShift, selectSize, "each output is a window of one index"},
    OpRow{OpKind::Concat, Scalar, concatZeroMean, concatShift, concatSize,
          "a group lies in one operand, or is the union of the operands' groups"},
    OpRow{OpKind::Stack, Scalar, stackZeroMean, stackShift, stackSize, "as concatenation, along a new axis"},
    OpRow{OpKind::Roll, Scalar, rollZeroMean, rollShift, sameSize, "a permutation inside or across whole groups"},
    OpRow{OpKind::Pad, Scalar, padZeroMean, padShift, padSize, "the padding adds 0 to a sum, or groups of 0"},
    OpRow{OpKind::Gather, Linear, gatherZeroMean, gatherShift, gatherSize, "each looked-up slice is one of x's"},
    OpRow{OpKind::Scatter, Scalar, scatterZeroMean, scatterShift, sameSize,
          "each row is x's or the updates', or a sum of such"},
    OpRow{OpKind::MaskedCopy, Scalar, maskedCopyZeroMean, maskedCopyShift, sameSize,
          "a whole row is x's or the source's next one"},
    OpRow{OpKind::Linear, Linear, contractionZeroMean, contractionShift, linearSize,
          "sum_o sum_i W[o,i] x[i] = sum_i (sum_o W[o,i]) x[i]"},
    OpRow{OpKind::MatMul, Linear, contractionZeroMean, contractionShift, matMulSize, "as Linear"},
    OpRow{OpKind::AddMatMul, Linear, contractionZeroMean, contractionShift, addMatMulSize, "as Linear, plus a bias"},
    OpRow{OpKind::Einsum, Linear, contractionZeroMean, contractionShift, ownSize, "as Linear, by labels"},
    OpRow{OpKind::Conv, Linear, contractionZeroMean, contractionShift, convSize,
          "as Linear over output channels, at each position"},
    OpRow{OpKind::Attention, Linear, contractionZeroMean, contractionShift, attentionSize,
          "y = P v: sums over v's last axis pass through P"},
    OpRow{OpKind::Recurrent, Opaque, opaqueZeroMean, opaqueShift, ownSize, "nothing is claimed"},
    OpRow{OpKind::LayerNorm, ZeroMean, layerNormZeroMean, layerNormShift, layerNormSize,
          "(x - mean)/sigma sums to 0 and ignores x's mean"},
    OpRow{OpKind::GroupNorm, Opaque, otherNormZeroMean, otherNormShift, channelNormSize,
          "ignores a shift equal over its own groups"},
    OpRow{OpKind::InstanceNorm, Opaque, otherNormZeroMean, otherNormShift, channelNormSize,
          "ignores a shift equal over its own groups"},
    OpRow{OpKind::BatchNorm, Opaque, batchNormZeroMean, batchNormShift, channelNormSize,
          "without its scale it adds a constant"},
    OpRow{OpKind::RmsNorm, Scalar, rmsNormZeroMean, rmsNormShift, layerNormSize,
          "passes a zero mean on where its scale is one number"},
    OpRow{OpKind::Softmax, Opaque, softmaxZeroMean, softmaxShift, sameSize,
          "exp(x + c) / sum exp(x + c) = exp(x) / sum exp(x)"},
    OpRow{OpKind::Reduce, Linear, reduceZeroMean, reduceShift, reduceSize, "sums over different axes commute"},
    OpRow{OpKind::Mix, Linear, mixZeroMean, mixShift, mixSize,
          "one map for all channels: the sum over channels passes through it"},
    OpRow{OpKind::ShapeQuery, Opaque, shapeQueryZeroMean, shapeQueryShift, newSize, "reads no values; zeros sum to 0"},
    OpRow{OpKind::If, Scalar, controlZeroMean, controlShift, ownSize, "one of the branches"},
    OpRow{OpKind::Loop, Scalar, controlZeroMean, controlShift, ownSize, "induction over passes"},
};

constexpr bool inOrder() {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].kind != static_cast<OpKind>(i)) return false;
  }
  return kRows.size() == static_cast<size_t>(OpKind::Count_);
}
static_assert(inOrder(), "one row per kind, in the order of the enum");

}  // namespace

template <class Answer>
Answer Rule<Answer>::operator()(SizeQuestion& sizes, const Node& node, int at, const Pattern& pattern) const {
  return ofSizes_ == nullptr ? ofGraph_(sizes.graph(), node, at, pattern) : ofSizes_(sizes, node, at, pattern);
}
template <class Answer>
Answer Rule<Answer>::operator()(const Graph& graph, const Node& node, int at, const Pattern& pattern) const {
  SizeQuestion sizes(graph);
  return (*this)(sizes, node, at, pattern);
}
template class Rule<struct ZeroMean>;
template class Rule<Shift>;

const OpRow& opRow(graph::OpKind kind) { return kRows.at(static_cast<size_t>(kind)); }

}  // namespace normlens::ops
