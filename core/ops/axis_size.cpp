#include "core/ops/axis_size.h"

#include <algorithm>
#include <map>

#include "core/graph/queries.h"
#include "core/ops/axis_view.h"
#include "core/ops/reshape_groups.h"
#include "core/ops/weight_width.h"

namespace normlens::ops {
namespace {

using graph::Graph;
using graph::kNone;
using graph::kNoValue;
using graph::Node;
using graph::OpKind;
using graph::Shape;
using graph::ValueId;
using Kind = AxisSize::Kind;

constexpr int kDeepest = 512;

const AxisSize kFixed{Kind::Fixed, kNoValue, 0};

// One question and its subquestions, each answered once.
class SizeQuestion {
 public:
  explicit SizeQuestion(const Graph& graph) : graph_(graph) {}

  AxisSize of(ValueId value, size_t axis) {
    const Shape* shape = shapeOf(graph_, value);
    if (shape == nullptr || axis >= shape->size()) return {Kind::Free, value, axis};
    const auto& made = graph_.value(value);
    if (isHeld(made) || made.literal || isFixedInput(value, axis)) return kFixed;
    if (depth_ >= kDeepest) return {Kind::Free, value, axis};
    if (const auto known = answers_.find({value, axis}); known != answers_.end()) return known->second;
    ++depth_;
    AxisSize answer{Kind::Free, value, axis};
    if (hasWidthOfAWeight(graph_, value, axis)) {
      answer = kFixed;
    } else if (made.producer != kNone) {
      answer = ask(graph_.node(made.producer), value, axis);
    }
    --depth_;
    answers_.emplace(std::pair{value, axis}, answer);
    return answer;
  }

  bool isBroadcast(ValueId operand, size_t fromLast) {
    const Shape* shape = shapeOf(graph_, operand);
    if (shape == nullptr) return false;
    return shape->size() < fromLast ? hasRankOfProbe(operand) : isFixed(operand, shape->size() - fromLast);
  }

  // The number of axes follows from those of the inputs, which a file may leave open.
  bool hasRankOfProbe(ValueId value) {
    if (ranksAreDeclared()) return true;
    const auto& made = graph_.value(value);
    if (isHeld(made) || made.literal || made.declared) return true;
    if (made.producer == kNone) return made.shape && isAssumed(value, made.shape->size() + 1);
    const auto [known, isNew] = ranked_.try_emplace(value, false);
    if (!isNew || depth_ >= kDeepest) return known->second;
    ++depth_;
    const Node& node = graph_.node(made.producer);
    const bool sizes = node.kind == OpKind::ShapeQuery && !graph::floatAttribute(node, "fill");
    const bool all = std::ranges::all_of(
        node.operands, [&](ValueId operand) { return operand == kNoValue || hasRankOfProbe(operand); });
    --depth_;
    return ranked_[value] = sizes || (all && node.blocks.empty());
  }

  bool isFixedCut(const Node& cut) {
    const auto along = graph::intAttribute(cut, "axis");
    const Shape* shape = shapeOf(graph_, cut.operands.at(0));
    if (cut.kind == OpKind::Unbind) return true;
    if (!along || shape == nullptr || *along < 0 || *along >= static_cast<int64_t>(shape->size())) return false;
    const auto axis = static_cast<size_t>(*along);
    const bool sized = !countsFromTheEnd(cut, (*shape)[axis]) || isFixed(cut.operands[0], axis);
    switch (cut.kind) {
      case OpKind::Select:
        return graph::intAttribute(cut, "index") && sized;
      case OpKind::Slice:
        return graph::intAttribute(cut, "start") && graph::intAttribute(cut, "end") && sized;
      case OpKind::Split:
        return graph::intsAttribute(cut, "sizes") ||
               (graph::boolAttribute(cut, "divides") && isFixed(cut.operands[0], axis));
      default:
        return false;
    }
  }

 private:
  [[nodiscard]] bool isAssumed(ValueId input, size_t fromLast) const {
    return std::ranges::find(graph_.assumed, graph::SizeOfOne{input, static_cast<int>(fromLast)}) !=
           graph_.assumed.end();
  }

  // A tensor of the file that no caller can give in other sizes.
  [[nodiscard]] bool isHeld(const graph::Value& made) const {
    return made.constant != kNone && graph_.constant(made.constant).volatileReason.empty();
  }

  [[nodiscard]] bool isFixedInput(ValueId value, size_t axis) const {
    const auto& made = graph_.value(value);
    if (made.producer != kNone) return false;
    return graph::isSizeDeclared(made, axis) || isAssumed(value, made.shape->size() - axis);
  }

  bool ranksAreDeclared() {
    if (!ranksDeclared_) ranksDeclared_ = graph::areRanksDeclared(graph_);
    return *ranksDeclared_;
  }

  [[nodiscard]] bool isFixed(ValueId value, size_t axis) { return of(value, axis).kind == Kind::Fixed; }

  // Where the axis' size decides what is taken.
  static bool countsFromTheEnd(const Node& cut, int64_t size) {
    const auto outside = [&](const char* name) {
      const auto at = graph::intAttribute(cut, name);
      return at && (*at < 0 || *at > size);
    };
    return graph::boolAttribute(cut, "from_end") || outside("start") || outside("end") || outside("index");
  }

  AxisSize fixedAs(ValueId from, size_t axis, const AxisSize& own) { return isFixed(from, axis) ? kFixed : own; }

  // Of operands that numpy rules broadcast. One that has the size, and not 1, has it in every run.
  AxisSize broadcast(const Node& node, const AxisSize& own) {
    const Shape& shape = *shapeOf(graph_, own.value);
    const int64_t size = shape[own.axis];
    const size_t fromLast = shape.size() - own.axis;
    std::vector<std::pair<ValueId, size_t>> sized;
    for (const ValueId operand : node.operands) {
      const Shape* part = shapeOf(graph_, operand);
      if (part == nullptr) continue;
      if (part->size() < fromLast) {
        if (size == 1 && !hasRankOfProbe(operand)) return own;
        continue;
      }
      if ((*part)[part->size() - fromLast] == size) sized.emplace_back(operand, part->size() - fromLast);
    }
    // A residual stream is long: the short ways first.
    std::stable_partition(sized.begin(), sized.end(), [&](const auto& each) { return isWeightOrProduct(each.first); });
    AxisSize found = own;
    bool all = !sized.empty(), mixed = false;
    for (const auto& [operand, axis] : sized) {
      const AxisSize seen = of(operand, axis);
      if (seen.kind == Kind::Fixed && size > 1) return kFixed;
      all = all && seen.kind == Kind::Fixed;
      if (size == 1) continue;
      // Of two that are free apart from each other, either may be the wider one in another run.
      mixed = mixed || (found != own && seen != found);
      if (found == own || seen.kind == Kind::Torn) found = seen;
    }
    return all ? kFixed : mixed && found.kind == Kind::Free ? own : found;
  }

  [[nodiscard]] bool isWeightOrProduct(ValueId value) const {
    const auto& made = graph_.value(value);
    if (made.producer == kNone) return made.constant != kNone;
    const OpKind kind = graph_.node(made.producer).kind;
    return kind == OpKind::Linear || kind == OpKind::Conv || kind == OpKind::AddMatMul || kind == OpKind::MatMul;
  }

  AxisSize ask(const Node& node, ValueId value, size_t axis) {
    const AxisSize own{Kind::Free, value, axis};
    const ValueId x = graph::operandAt(node, 0);
    const Shape* in = shapeOf(graph_, x);
    const Shape& out = *shapeOf(graph_, value);
    if (in == nullptr) return own;
    switch (node.kind) {
      case OpKind::Add:
      case OpKind::Sub:
      case OpKind::Mul:
      case OpKind::Div:
      case OpKind::Elementwise:
      case OpKind::Where:
      case OpKind::MaskedFill:
        return broadcast(node, own);
      case OpKind::LayerNorm:
      case OpKind::RmsNorm:
        if (graph_.value(value).output != 0) return own;
        if (listsAxis(node, "axes", axis) && graph::intsAttribute(node, "normalized_shape")) return kFixed;
        return broadcast(node, own);
      case OpKind::GroupNorm:
      case OpKind::InstanceNorm:
      case OpKind::BatchNorm: {
        const ValueId gamma = graph::operandAt(node, 1);
        if (axis == 1 && gamma != kNoValue && graph_.value(gamma).constant != kNone) return kFixed;
        return graph_.value(value).output == 0 ? of(x, axis) : own;
      }
      case OpKind::Identity:
      case OpKind::Cast:
      case OpKind::Neg:
      case OpKind::Roll:
      case OpKind::Softmax:
      case OpKind::Scatter:
      case OpKind::MaskedCopy:
        return in->size() == out.size() ? of(x, axis) : own;
      case OpKind::Permute: {
        const auto perm = graph::intsAttribute(node, "perm");
        return perm && axis < perm->size() ? of(x, static_cast<size_t>((*perm)[axis])) : own;
      }
      case OpKind::Expand: {
        const size_t fromLast = out.size() - axis;
        const bool kept = out[axis] > 1 && in->size() >= fromLast && (*in)[in->size() - fromLast] == out[axis];
        return kept ? of(x, in->size() - fromLast) : own;
      }
      case OpKind::Reshape:
        return reshaped(node, own);
      case OpKind::Slice:
      case OpKind::Split:
      case OpKind::Select:
      case OpKind::Unbind:
        return cut(node, own);
      case OpKind::Concat:
      case OpKind::Stack:
        return joined(node, own);
      case OpKind::Gather:
        return gathered(node, own);
      case OpKind::Pad:
        if (!graph::intsAttribute(node, "axes")) return own;
        if (!listsAxis(node, "axes", axis)) return of(x, axis);
        return graph::intsAttribute(node, "start") ? fixedAs(x, axis, own) : own;
      case OpKind::Mix:
        if (listsAxis(node, "ones", axis)) return kFixed;
        return in->size() == out.size() && graph::intsAttribute(node, "axes") && !listsAxis(node, "axes", axis)
                   ? of(x, axis)
                   : own;
      case OpKind::Reduce:
        return reduced(node, own);
      case OpKind::Attention: {
        const auto projection = graph::intAttribute(node, "projection");
        if (graph_.value(value).output != 0 || in->size() != out.size()) return own;
        if (axis + 1 < out.size()) return of(x, axis);
        if (projection) return of(graph::operandAt(node, static_cast<size_t>(*projection)), 0);
        return of(graph::operandAt(node, 2), axis);
      }
      case OpKind::Linear:
        return axis + 1 == out.size() ? of(graph::operandAt(node, 1), 0) : of(x, axis);
      case OpKind::MatMul:
        return multiplied(x, graph::operandAt(node, 1), own);
      case OpKind::AddMatMul:
        return multiplied(graph::operandAt(node, 1), graph::operandAt(node, 2), own);
      case OpKind::Conv:
        return convolved(node, own);
      default:
        return own;
    }
  }

  AxisSize reshaped(const Node& node, const AxisSize& own) {
    if (listsAxis(node, "ones", own.axis)) return kFixed;
    const ValueId x = node.operands[0];
    for (const AxisGroup& group : groupsOf(*shapeOf(graph_, x), *shapeOf(graph_, own.value))) {
      if (std::ranges::find(group.out, own.axis) == group.out.end()) continue;
      if (std::ranges::any_of(group.out, [&](size_t axis) { return listsAxis(node, "computed", axis); }))
        return {Kind::Torn, own.value, own.axis};
      if (std::ranges::all_of(group.in, [&](size_t axis) { return isFixed(x, axis); })) return kFixed;
      return group.in.size() == 1 && group.out.size() == 1 ? of(x, group.in[0]) : own;
    }
    return own;
  }

  AxisSize cut(const Node& node, const AxisSize& own) {
    const auto along = graph::intAttribute(node, "axis");
    if (!along || *along < 0) return own;
    const auto axis = static_cast<size_t>(*along);
    if (node.kind == OpKind::Select || node.kind == OpKind::Unbind)
      return of(node.operands[0], own.axis < axis ? own.axis : own.axis + 1);
    if (own.axis != axis) return of(node.operands[0], own.axis);
    return isFixedCut(node) ? kFixed : own;
  }

  AxisSize joined(const Node& node, const AxisSize& own) {
    const auto along = graph::intAttribute(node, "axis");
    if (!along || *along < 0) return own;
    const auto axis = static_cast<size_t>(*along);
    const bool stacks = node.kind == OpKind::Stack;
    if (own.axis == axis) {
      const auto fixed = [&](ValueId part) { return isFixed(part, axis); };
      return stacks || std::ranges::all_of(node.operands, fixed) ? kFixed : own;
    }
    const size_t inner = stacks && own.axis > axis ? own.axis - 1 : own.axis;
    const auto fixed = [&](ValueId part) { return isFixed(part, inner); };
    return std::ranges::any_of(node.operands, fixed) ? kFixed : of(node.operands[0], inner);
  }

  AxisSize gathered(const Node& node, const AxisSize& own) {
    const auto along = graph::intAttribute(node, "axis");
    const auto count = static_cast<size_t>(graph::intAttribute(node, "count").value_or(1));
    const size_t in = shapeOf(graph_, node.operands[0])->size(), out = shapeOf(graph_, own.value)->size();
    if (!along || *along < 0 || out + count < in) return own;
    const auto axis = static_cast<size_t>(*along);
    const size_t made = out + count - in;
    if (own.axis < axis) return of(node.operands[0], own.axis);
    if (own.axis >= axis + made) return of(node.operands[0], own.axis - made + count);
    const ValueId index = graph::operandAt(node, 1);
    const Shape* shape = shapeOf(graph_, index);
    return node.operands.size() == 2 && shape != nullptr && shape->size() == made ? of(index, own.axis - axis) : own;
  }

  AxisSize reduced(const Node& node, const AxisSize& own) {
    const auto axes = graph::intsAttribute(node, "axes");
    if (!axes) return own;
    if (graph::boolAttribute(node, "keepdim")) {
      return listsAxis(node, "axes", own.axis) ? kFixed : of(node.operands[0], own.axis);
    }
    size_t axis = 0;
    for (size_t kept = 0;; ++axis) {
      if (listsAxis(node, "axes", axis)) continue;
      if (kept++ == own.axis) break;
    }
    return of(node.operands[0], axis);
  }

  AxisSize multiplied(ValueId a, ValueId b, const AxisSize& own) {
    const Shape *left = shapeOf(graph_, a), *right = shapeOf(graph_, b);
    const size_t rank = shapeOf(graph_, own.value)->size();
    if (left == nullptr || right == nullptr || left->size() < 2 || right->size() < 2) return own;
    const size_t fromLast = rank - own.axis;
    if (fromLast == 1) return of(b, right->size() - 1);
    const auto has = [&](const Shape& shape) {
      return shape.size() >= fromLast && shape[shape.size() - fromLast] == (*shapeOf(graph_, own.value))[own.axis];
    };
    if (fromLast == 2 || has(*left)) return of(a, left->size() - fromLast);
    return has(*right) ? of(b, right->size() - fromLast) : own;
  }

  AxisSize convolved(const Node& node, const AxisSize& own) {
    const ValueId weight = graph::operandAt(node, 1);
    const Shape *in = shapeOf(graph_, node.operands[0]), *kernel = shapeOf(graph_, weight);
    if (kernel == nullptr || in->size() != kernel->size() || own.axis >= in->size()) return own;
    if (own.axis == 1) {
      return graph::boolAttribute(node, "transposed") ? fixedAs(weight, 1, own) : of(weight, 0);
    }
    return own.axis == 0 ? of(node.operands[0], 0) : fixedAs(node.operands[0], own.axis, own);
  }

  const Graph& graph_;
  std::map<std::pair<ValueId, size_t>, AxisSize> answers_;
  std::map<ValueId, bool> ranked_;  // hasRankOfProbe
  std::optional<bool> ranksDeclared_;
  int depth_ = 0;
};

}  // namespace

AxisSize axisSize(const Graph& graph, ValueId value, size_t axis) { return SizeQuestion(graph).of(value, axis); }

bool isSizeFixed(const Graph& graph, ValueId value, size_t axis) {
  return axisSize(graph, value, axis).kind == Kind::Fixed;
}

bool isBroadcastInEveryRun(const Graph& graph, ValueId operand, size_t fromLast) {
  return SizeQuestion(graph).isBroadcast(operand, fromLast);
}

bool hasRankOfProbe(const Graph& graph, ValueId value) { return SizeQuestion(graph).hasRankOfProbe(value); }

bool isFixedCut(const Graph& graph, const Node& cut) { return SizeQuestion(graph).isFixedCut(cut); }

}  // namespace normlens::ops
