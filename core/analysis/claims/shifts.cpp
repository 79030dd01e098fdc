#include "core/analysis/claims/shifts.h"

#include <algorithm>

#include "core/analysis/claims/kept_channels.h"
#include "core/analysis/graph_names.h"
#include "core/analysis/norms/constant_behind.h"
#include "core/graph/queries.h"
#include "core/ops/index_maps.h"
#include "core/ops/rules.h"

namespace normlens::analysis {
namespace {

bool isVector(const Shape* shape, int64_t size) {
  return shape != nullptr && !shape->empty() && shape->back() == size && graph::elementCount(*shape) == size;
}

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
    if (shifted == kNoValue || !follow(shifted) || out_.edit.parts.empty()) return std::nullopt;
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
    if (const NodeId scale = soleReader(value, OpKind::Mul); scale != kNone) value = graph_.node(scale).outputs[0];
    const NodeId add = soleReader(value, OpKind::Add);
    if (add == kNone || !ops::plainAlpha(graph_.node(add))) return kNoValue;
    const Node& node = graph_.node(add);
    const int beta = node.operands[0] == value ? 1 : 0;
    if (!isShift({add, beta, kNone}) || !graph::sameTypeAndShape(graph_, value, node.outputs[0])) return kNoValue;
    out_.edit.shiftNode = add;
    out_.edit.shiftOperand = beta;
    return node.outputs[0];
  }

  [[nodiscard]] NodeId soleReader(ValueId value, OpKind kind) const {
    const auto& uses = graph_.value(value).uses;
    return uses.size() == 1 && uses[0].node != kNone && graph_.node(uses[0].node).kind == kind ? uses[0].node : kNone;
  }

  // A constant, not seen through other nodes: its read is what the edit removes.
  [[nodiscard]] bool isShift(const Use& use) const {
    const auto found = constantBehind(graph_, use, 0);
    return found && found->use == use && isVector(ops::shapeOf(graph_, valueAt(use)), channels_);
  }

  [[nodiscard]] ValueId valueAt(const Use& use) const {
    return graph::operandAt(graph_.node(use.node), static_cast<size_t>(use.operand));
  }

  // Down to linears on every path.
  bool follow(ValueId first) {
    std::vector<ValueId> open{first};
    while (!open.empty()) {
      const ValueId id = open.back();
      open.pop_back();
      const auto& value = graph_.value(id);
      if (!value.opaqueReason.empty() || !graph::isFloat(value.dtype)) return false;
      out_.between.push_back(id);
      for (const Use& use : value.uses) {
        if (use.node == kNone) return false;
        const Node& node = graph_.node(use.node);
        if (use.operand == 0 && keepsChannels(graph_, node, channels_)) {
          open.insert(open.end(), node.outputs.begin(), node.outputs.end());
        } else if (node.kind == OpKind::ShapeQuery) {
          continue;
        } else if (!intoLinear(use, node)) {
          return false;
        }
      }
    }
    return true;
  }

  bool intoLinear(const Use& use, const Node& node) {
    switch (node.kind) {
      case OpKind::Linear:
        return use.operand == 0 && addPart({use.node, 1, kNone}, 1, {use.node, 2, kNone}, node.outputs[0]);
      case OpKind::AddMatMul:
        return use.operand == 1 && ops::plainAlpha(node) && ops::plainBeta(node) &&
               addPart({use.node, 2, kNone}, 0, {use.node, 0, kNone}, node.outputs[0]);
      case OpKind::MatMul: {
        const NodeId add = soleReader(node.outputs[0], OpKind::Add);
        if (use.operand != 0 || !ops::plainAlpha(node) || add == kNone || !ops::plainAlpha(graph_.node(add)))
          return false;
        const int bias = graph_.node(add).operands[0] == node.outputs[0] ? 1 : 0;
        if (!graph::sameTypeAndShape(graph_, node.outputs[0], graph_.node(add).outputs[0])) return false;
        out_.between.push_back(node.outputs[0]);
        return addPart({use.node, 1, kNone}, 0, {add, bias, kNone}, node.outputs[0]);
      }
      default:
        return false;
    }
  }

  // inputAxis: of the weight operand, the one that is summed with the channels.
  bool addPart(const Use& weightUse, int64_t inputAxis, const Use& biasUse, ValueId output) {
    const Shape* shape = ops::shapeOf(graph_, valueAt(weightUse));
    if (shape == nullptr || shape->size() != 2 || (*shape)[static_cast<size_t>(inputAxis)] != channels_) return false;
    const int64_t outputs = (*shape)[static_cast<size_t>(1 - inputAxis)];
    const ValueId biasValue = valueAt(biasUse);
    if (biasValue == kNoValue || !isVector(ops::shapeOf(graph_, biasValue), outputs)) return false;
    const auto dtype = graph_.value(output).dtype;
    if (graph_.value(biasValue).dtype != dtype || graph_.value(valueAt(weightUse)).dtype != dtype) return false;
    const auto weight = constantBehind(graph_, weightUse, inputAxis);
    const auto bias = constantBehind(graph_, biasUse, 0);
    if (!weight || !bias || !bias->soleReader) return false;
    if (graph_.constant(weight->constant).view.shape.size() != 2) return false;
    out_.edit.parts.push_back({weight->constant, weight->use, static_cast<int>(weight->axis), bias->constant});
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
