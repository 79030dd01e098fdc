#include "core/analysis/dropped_addend.h"

#include <algorithm>
#include <cmath>

#include "core/ops/rules.h"

namespace normlens::analysis {
namespace {

using graph::Graph;
using graph::kNone;
using graph::kNoValue;
using graph::OpKind;
using graph::ValueId;

// Larger ones are weights, no masks.
constexpr int64_t kLargestMask = 1 << 16;

bool isFinite(const graph::TensorView& view) {
  if (graph::elementCount(view.shape).value_or(kLargestMask + 1) > kLargestMask) return true;
  const auto numbers = graph::toDoubles(view);
  return !numbers || std::ranges::all_of(*numbers, [](double number) { return std::isfinite(number); });
}

// An additive mask is made of infinities that the file writes, a few selections and casts away.
bool isMadeOfInfinities(const Graph& graph, ValueId id, int steps = 8) {
  if (id == kNoValue || steps == 0) return false;
  const auto& value = graph.value(id);
  if (value.literal) return !std::isfinite(*value.literal);
  if (value.constant != kNone) return !isFinite(graph.constant(value.constant).view);
  if (value.producer == kNone) return false;
  const auto& node = graph.node(value.producer);
  switch (node.kind) {
    case OpKind::ShapeQuery:
      return !std::isfinite(graph::floatAttribute(node, "fill").value_or(0));
    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Mul:
    case OpKind::Neg:
    case OpKind::Where:
    case OpKind::MaskedFill:
    case OpKind::Cast:
    case OpKind::Identity:
    case OpKind::Expand:
    case OpKind::Reshape:
    case OpKind::Permute:
    case OpKind::Slice:
      return std::ranges::any_of(node.operands,
                                 [&](ValueId operand) { return isMadeOfInfinities(graph, operand, steps - 1); });
    default:
      return false;
  }
}

// A mean that is subtracted from what it is the mean of: no addend, but what makes the difference zero-mean.
bool isMeanOfCentering(const Graph& graph, const graph::Use& use) {
  return use.node != kNone && use.operand == 1 && ops::explicitCentering(graph, graph.node(use.node));
}

}  // namespace

bool isDroppable(const Graph& graph, ValueId id, const ops::Pattern& pattern, const graph::Uses& uses) {
  const auto& value = graph.value(id);
  if (value.literal) return std::isfinite(*value.literal);
  if (value.constant != kNone || !value.opaqueReason.empty()) return false;
  if (!value.shape || !graph::isFloat(value.dtype) || !pattern.wholeRegion()) return false;
  // What a loop carries has no single place, nor has what exists only within an operator of the file.
  if (value.producer == kNone ? value.paramOf != 0 : graph::boolAttribute(graph.node(value.producer), "inside"))
    return false;
  if (std::ranges::any_of(uses, [&](const graph::Use& use) { return isMeanOfCentering(graph, use); })) return false;
  return ops::isConstantAlong(graph, id, pattern) && !isMadeOfInfinities(graph, id);
}

}  // namespace normlens::analysis
