#include "core/analysis/claims/shifts.h"

#include <algorithm>

#include "core/analysis/claims/linear_readers.h"
#include "core/analysis/graph_names.h"
#include "core/analysis/norms/constant_behind.h"
#include "core/graph/queries.h"
#include "core/ops/index_maps.h"
#include "core/ops/rules.h"

namespace normlens::analysis {
namespace {

class ShiftFinder {
 public:
  ShiftFinder(const Graph& graph, const LayerNorm& norm) : graph_(graph), norm_(norm) {}

  std::optional<MovableShift> find() {
    if (!norm_.blockedReason.empty() || norm_.normalizedShape.size() != 1 || norm_.type != NormType::LayerNorm)
      return std::nullopt;
    if (!areLastAxes(norm_.axes, ops::shapeOf(graph_, norm_.input)->size())) return std::nullopt;
    channels_ = norm_.normalizedShape.front();
    out_.edit.norm = norm_.index;
    const ValueId shifted = norm_.form == NormForm::Decomposed ? findAddedBeta() : findOwnBeta();
    if (shifted == kNoValue || !follow(shifted)) return std::nullopt;
    return std::move(out_);
  }

 private:
  // Both return the value with beta in it.
  ValueId findOwnBeta() {
    if (norm_.beta == kNoValue || !isShift({norm_.node, 2, kNone})) return kNoValue;
    out_.edit.shiftNode = norm_.node;
    out_.edit.shiftOperand = 2;
    return norm_.output;
  }

  ValueId findAddedBeta() {
    ValueId value = norm_.output;
    if (const NodeId scale = soleReader(graph_, value, OpKind::Mul); scale != kNone)
      value = graph_.node(scale).outputs[0];
    const NodeId add = soleReader(graph_, value, OpKind::Add);
    if (add == kNone || !ops::plainAlpha(graph_.node(add))) return kNoValue;
    const Node& node = graph_.node(add);
    const int beta = node.operands[0] == value ? 1 : 0;
    if (!isShift({add, beta, kNone}) || !graph::sameTypeAndShape(graph_, value, node.outputs[0])) return kNoValue;
    out_.edit.shiftNode = add;
    out_.edit.shiftOperand = beta;
    return node.outputs[0];
  }

  // A constant, not seen through other nodes: its read is what the edit removes.
  [[nodiscard]] bool isShift(const Use& use) const { return readsVector(graph_, use, channels_); }

  bool follow(ValueId shifted) {
    auto found = linearReaders(graph_, shifted, channels_);
    if (!found) return false;
    out_.between = std::move(found->between);
    return std::ranges::all_of(found->linears, [&](const LinearReader& linear) { return addPart(linear); });
  }

  bool addPart(const LinearReader& linear) {
    if (linear.bias.node == kNone) return false;
    const Shape& weight = graph_.constant(linear.weight.constant).view.shape;
    const int64_t outputs = weight[static_cast<size_t>(1 - linear.weight.axis)];
    if (!isVector(graph_, valueAt(graph_, linear.bias), outputs)) return false;
    const auto bias = constantBehind(graph_, linear.bias, 0);
    if (!bias || !bias->soleReader ||
        graph_.value(valueAt(graph_, linear.bias)).dtype != graph_.value(linear.output).dtype)
      return false;
    if (linear.bias.node != linear.node) out_.between.push_back(linear.output);
    out_.edit.parts.push_back(
        {linear.weight.constant, linear.weight.use, static_cast<int>(linear.weight.axis), bias->constant});
    return true;
  }

  const Graph& graph_;
  const LayerNorm& norm_;
  int64_t channels_ = 0;
  MovableShift out_;
};

}  // namespace

std::optional<MovableShift> movableShift(const Graph& graph, const LayerNorm& norm) {
  return ShiftFinder(graph, norm).find();
}

}  // namespace normlens::analysis
