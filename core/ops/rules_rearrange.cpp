#include <algorithm>

#include "core/ops/axis_view.h"
#include "core/ops/index_maps.h"
#include "core/ops/rule_sets.h"

namespace normlens::ops {
namespace {

// The index of x as factors `inner`, of which y's is made in the order `perm`.
struct Order {
  std::vector<int64_t> inner;
  std::vector<size_t> perm;
};

std::optional<Order> orderOf(const Graph& graph, const Node& node) {
  const auto inner = graph::intsAttribute(node, "inner"), perm = graph::intsAttribute(node, "perm");
  const Shape* in = shapeOf(graph, node.operands.at(0));
  const Shape* out = shapeOf(graph, node.outputs[0]);
  if (!inner || !perm || in == nullptr || out == nullptr || inner->size() != perm->size()) return std::nullopt;
  const auto count = graph::elementCount(*inner);
  if (!count || count != graph::elementCount(*in) || count != graph::elementCount(*out)) return std::nullopt;
  auto sorted = *perm;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int64_t>(i)) return std::nullopt;
  }
  return Order{*inner, {perm->begin(), perm->end()}};
}

constexpr const char* kShapes = "its shape is not known or changes from one pass to the next";

bool sameShape(const Graph& graph, ValueId a, ValueId b) {
  const auto* left = shapeOf(graph, a);
  const auto* right = shapeOf(graph, b);
  return left != nullptr && right != nullptr && *left == *right;
}

// Loop's operands are [trip count, condition, carried...], its body returns [condition, carried...].
constexpr size_t kCarriedOperand = 2;
constexpr size_t kCarriedReturn = 1;
constexpr size_t kCarriedParam = 1;

}  // namespace

ZeroMean rearrangeZeroMean(const Graph& graph, const Node& node, int, const Pattern& pattern) {
  const auto order = orderOf(graph, node);
  if (!order) return ZeroMean::refused(kNoShape);
  std::vector<int64_t> moved;
  for (const size_t from : order->perm) moved.push_back(order->inner[from]);
  const auto dims = alignTo(pattern, moved);
  if (!dims) return ZeroMean::refused(kCutsChannels);
  FactorsPerDim in(moved.size());
  for (size_t i = 0; i < moved.size(); ++i) in.at(order->perm[i]) = dims->at(i);
  return ZeroMean::of({{node.operands[0], joinDims(in)}});
}

Shift rearrangeShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  const auto order = orderOf(graph, node);
  const auto dims = order ? alignTo(pattern, order->inner) : std::nullopt;
  if (operand != 0 || !dims) return Shift::refused(order ? "it cuts through the shifted channels" : kNoShape);
  FactorsPerDim out;
  for (const size_t from : order->perm) out.push_back(dims->at(from));
  return Shift::carried({{node.outputs[0], joinDims(out)}});
}

// If: whichever branch runs. Loop: the greatest fixpoint, which the caller's memo over (value, pattern) yields.
ZeroMean controlZeroMean(const Graph& graph, const Node& node, int output, const Pattern& pattern) {
  const auto index = static_cast<size_t>(output);
  const ValueId out = node.outputs.at(index);
  std::vector<Demand> needs;
  if (node.kind == OpKind::Loop) {
    if (node.operands.size() <= index + kCarriedOperand) return ZeroMean::refused(kShapes);
    needs.push_back({node.operands[index + kCarriedOperand], pattern});
  }
  for (const auto block : node.blocks) {
    const auto& returns = graph.block(block).returns;
    const size_t at = index + (node.kind == OpKind::Loop ? kCarriedReturn : 0);
    if (at >= returns.size()) return ZeroMean::refused(kShapes);
    needs.push_back({returns[at], pattern});
  }
  for (const Demand& need : needs) {
    if (sameShape(graph, need.value, out)) continue;
    return ZeroMean::refused(shapeOf(graph, need.value) == nullptr ? kNoShape : kShapes);
  }
  return ZeroMean::of(std::move(needs));
}

Shift controlShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  const auto index = static_cast<size_t>(operand);
  if (node.kind != OpKind::Loop || index < kCarriedOperand)
    return Shift::refused("the shifted values decide which way it goes");
  const size_t carried = index - kCarriedOperand;
  const ValueId out = node.outputs.at(carried);
  const ValueId param = graph.block(node.blocks.at(0)).params.at(carried + kCarriedParam);
  if (!sameShape(graph, out, node.operands[index]) || !sameShape(graph, param, out)) return Shift::refused(kShapes);
  return Shift::carried({{out, pattern}, {param, pattern}});
}

}  // namespace normlens::ops
