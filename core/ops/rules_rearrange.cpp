#include <algorithm>

#include "core/ops/axis_view.h"
#include "core/ops/rule_sets.h"

namespace normlens::ops {

using graph::Graph;
using graph::Node;
using graph::Shape;

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

}  // namespace normlens::ops
