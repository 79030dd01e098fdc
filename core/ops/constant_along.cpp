#include <map>

#include "core/ops/index_maps.h"
#include "core/ops/rules.h"

namespace normlens::ops {

using graph::Graph;
using graph::Node;
using graph::OpKind;
using graph::Shape;
using graph::ValueId;

namespace {

// A gate or mask is a handful of ops away from a broadcast; beyond that the answer "varies" is always safe.
constexpr int kMaxDepth = 48;

// Equal within each group: compare every element with the first of its group, reading the constant once.
bool constantTensor(const graph::Constant& constant, const Pattern& pattern) {
  if (!constant.volatileReason.empty()) return false;
  const auto numbers = graph::toDoubles(constant.view);
  if (!numbers) return false;
  std::map<int64_t, double> first;
  for (size_t i = 0; i < numbers->size(); ++i) {
    int64_t rest = static_cast<int64_t>(i);
    int64_t group = 0;
    int64_t stride = 1;
    bool inside = true;
    for (size_t f = pattern.factors.size(); f-- > 0;) {
      const Factor& factor = pattern.factors[f];
      const int64_t digit = rest % factor.size;
      rest /= factor.size;
      inside = inside && digit >= factor.begin && digit < factor.end;
      if (!factor.summed) group += digit * stride;
      stride *= factor.size;
    }
    if (!inside) continue;
    const auto [at, added] = first.emplace(group, (*numbers)[i]);
    if (!added && at->second != (*numbers)[i]) return false;
  }
  return true;
}

bool varies(const Graph& graph, ValueId value, const Pattern& pattern, int depth);

bool constantOperand(const Graph& graph, const Node& node, ValueId operand, const Pattern& pattern, int depth) {
  if (operand == graph::kNoValue) return true;
  const Shape* full = shapeOf(graph, node.outputs[0]);
  const Shape* part = shapeOf(graph, operand);
  const auto seen = full == nullptr || part == nullptr ? std::nullopt : narrowToOperand(pattern, *full, *part);
  return seen && !varies(graph, operand, *seen, depth + 1);
}

bool varies(const Graph& graph, ValueId id, const Pattern& pattern, int depth) {
  if (!pattern.sumsAnything()) return false;
  const auto& value = graph.value(id);
  if (value.literal) return false;
  if (depth > kMaxDepth || !value.opaqueReason.empty()) return true;
  if (value.constant != graph::kNone) return !constantTensor(graph.constant(value.constant), pattern);
  if (value.producer == graph::kNone) return true;
  const Node& node = graph.node(value.producer);
  switch (node.kind) {
    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Mul:
    case OpKind::Div:
    case OpKind::Neg:
    case OpKind::Cast:
    case OpKind::Identity:
    case OpKind::Elementwise:
    case OpKind::Where:
    case OpKind::MaskedFill:
    case OpKind::Expand:
      for (const ValueId operand : node.operands) {
        if (node.kind == OpKind::Expand && operand != node.operands[0]) continue;
        if (!constantOperand(graph, node, operand, pattern, depth)) return true;
      }
      return false;
    case OpKind::Reshape:
    case OpKind::Permute:
    case OpKind::Slice:
    case OpKind::Select: {
      // Moves elements only: the rule's map of groups holds for "equal" as it does for "sums to 0".
      const ZeroMean moved = opRow(node.kind).zeroMean(graph, node, value.output, pattern);
      if (moved.verdict != ZeroMean::Verdict::Needs || moved.needs.size() != 1) return true;
      return varies(graph, moved.needs[0].value, moved.needs[0].pattern, depth + 1);
    }
    default: return true;
  }
}

}  // namespace

bool isConstantAlong(const Graph& graph, ValueId value, const Pattern& pattern) { return !varies(graph, value, pattern, 0); }

}  // namespace normlens::ops
