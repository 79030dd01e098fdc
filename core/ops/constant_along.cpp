#include <algorithm>
#include <map>
#include <utility>

#include "core/ops/axis_size.h"
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
    auto rest = static_cast<int64_t>(i);
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

// One question and its subquestions, each answered once.
class Question {
 public:
  explicit Question(const Graph& graph) : graph_(graph) {}

  bool varies(ValueId id, const Pattern& pattern, int depth) {
    if (!pattern.sumsAnything()) return false;
    if (depth > kMaxDepth) return true;
    const auto known = answers_.find({id, pattern});
    if (known != answers_.end()) return known->second;
    const bool answer = ask(id, pattern, depth);
    answers_.emplace(std::pair{id, pattern}, answer);
    return answer;
  }

 private:
  bool constantOperand(const Node& node, ValueId made, ValueId operand, const Pattern& pattern, int depth) {
    if (operand == graph::kNoValue) return true;
    const Shape* full = shapeOf(graph_, made);
    if (node.kind == OpKind::Expand && operand != node.operands[0]) return true;
    const auto seen = full == nullptr ? std::nullopt : narrowedInEveryRun(graph_, operand, pattern, *full);
    return seen && !varies(operand, *seen, depth + 1);
  }

  bool ask(ValueId id, const Pattern& pattern, int depth) {
    const auto& value = graph_.value(id);
    if (value.literal) return false;
    if (!value.opaqueReason.empty()) return true;
    if (value.constant != graph::kNone) return !constantTensor(graph_.constant(value.constant), pattern);
    if (value.producer == graph::kNone) return true;
    const Node& node = graph_.node(value.producer);
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
        return !std::all_of(node.operands.begin(), node.operands.end(),
                            [&](ValueId operand) { return constantOperand(node, id, operand, pattern, depth); });
      case OpKind::Reshape:
      case OpKind::Permute:
      case OpKind::Rearrange:
      case OpKind::Slice:
      case OpKind::Select: {
        // Moves elements only: the rule's map of groups holds for "equal" as it does for "sums to 0".
        const ZeroMean moved = opRow(node.kind).zeroMean(graph_, node, value.output, pattern);
        if (moved.verdict != ZeroMean::Verdict::Needs || moved.needs.size() != 1) return true;
        return varies(moved.needs[0].value, moved.needs[0].pattern, depth + 1);
      }
      case OpKind::ShapeQuery:
        return !graph::floatAttribute(node, "fill");
      default:
        return true;
    }
  }

  const Graph& graph_;
  std::map<std::pair<ValueId, Pattern>, bool> answers_;
};

}  // namespace

bool isConstantAlong(const Graph& graph, ValueId value, const Pattern& pattern) {
  return !Question(graph).varies(value, pattern, 0);
}

}  // namespace normlens::ops
