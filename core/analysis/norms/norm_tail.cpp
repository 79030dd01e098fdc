#include "core/analysis/norms/norm_tail.h"

#include <algorithm>
#include <optional>

#include "core/analysis/graph_names.h"
#include "core/analysis/norms/written_nodes.h"
#include "core/ops/index_maps.h"
#include "core/ops/rules.h"

namespace normlens::analysis {
namespace {

constexpr int kLongestChain = 6;  // 1 + gamma, cast and viewed

bool isOfConstantsWithin(const Graph& graph, ValueId id, int depth) {
  if (id == kNoValue) return false;
  const auto& value = graph.value(id);
  if (value.constant != kNone || value.literal) return true;
  const Node* node = producerOf(graph, id);
  if (node == nullptr || depth == 0) return false;
  const bool simple =
      node->kind == OpKind::Cast || node->kind == OpKind::Add || node->kind == OpKind::Mul || isView(*node);
  return simple && std::ranges::all_of(node->operands,
                                       [&](ValueId operand) { return isOfConstantsWithin(graph, operand, depth - 1); });
}

bool isPerFeature(const Graph& graph, ValueId id, const std::vector<int64_t>& normalizedShape) {
  const Shape* shape = id == kNoValue ? nullptr : ops::shapeOf(graph, id);
  if (shape == nullptr || shape->size() < normalizedShape.size() || !isOfConstants(graph, id)) return false;
  const auto own = shape->end() - static_cast<std::ptrdiff_t>(normalizedShape.size());
  return std::equal(own, shape->end(), normalizedShape.begin()) &&
         std::all_of(shape->begin(), own, [](int64_t size) { return size == 1; });
}

class TailReader {
 public:
  TailReader(const Graph& graph, const std::vector<int64_t>& normalizedShape, graph::DType dtype, TailWish wish)
      : graph_(graph), normalizedShape_(normalizedShape), dtype_(dtype), wish_(wish) {}

  NormTail read(ValueId output) {
    NormTail tail;
    tail.output = output;
    NormTail longer = tail;
    for (auto step = next(longer.output); step; step = next(longer.output)) {
      longer.nodes.push_back(*step);
      const Node& node = graph_.node(*step);
      if (!isTypeCast(node) && !takeConstant(node, longer)) break;
      longer.output = node.outputs[0];
      if (!isTypeCast(node) || graph_.value(longer.output).dtype == dtype_) tail = longer;
    }
    return tail;
  }

 private:
  // The only reader, where it has the same shape.
  [[nodiscard]] std::optional<NodeId> next(ValueId value) const {
    const auto& uses = graph_.value(value).uses;
    if (uses.size() != 1 || uses[0].node == kNone) return std::nullopt;
    const Node& node = graph_.node(uses[0].node);
    const Shape* before = ops::shapeOf(graph_, value);
    if (node.outputs.size() != 1 || before == nullptr) return std::nullopt;
    const Shape* after = ops::shapeOf(graph_, node.outputs[0]);
    const bool goesOn = after != nullptr && *after == *before;
    return goesOn ? std::optional(uses[0].node) : std::nullopt;
  }

  // gamma before beta, each once.
  bool takeConstant(const Node& node, NormTail& tail) const {
    if (node.operands.size() != 2 || tail.beta != kNoValue) return false;
    const ValueId other = node.operands[node.operands[0] == tail.output ? 1 : 0];
    if (!isPerFeature(graph_, other, normalizedShape_)) return false;
    if (node.kind == OpKind::Mul && wish_.gamma && tail.gamma == kNoValue) {
      tail.gamma = other;
      return true;
    }
    if (node.kind != OpKind::Add || !wish_.beta || !ops::plainAlpha(node)) return false;
    tail.beta = other;
    return true;
  }

  const Graph& graph_;
  const std::vector<int64_t>& normalizedShape_;
  graph::DType dtype_;
  TailWish wish_;
};

}  // namespace

NormTail tailOf(const Graph& graph, ValueId output, const std::vector<int64_t>& normalizedShape, graph::DType dtype,
                TailWish wish) {
  return TailReader(graph, normalizedShape, dtype, wish).read(output);
}

bool isOfConstants(const Graph& graph, ValueId id) { return isOfConstantsWithin(graph, id, kLongestChain); }

bool isTypeCast(const Node& node) {
  return node.kind == OpKind::Cast || (node.kind == OpKind::Identity && node.function == graph::Function::Cast);
}

}  // namespace normlens::analysis
