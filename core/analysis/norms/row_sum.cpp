#include "core/analysis/norms/row_sum.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "core/analysis/graph_names.h"
#include "core/analysis/norms/constant_behind.h"
#include "core/graph/contains.h"
#include "core/ops/index_maps.h"
#include "core/ops/rules.h"

namespace normlens::analysis {
namespace {

constexpr int64_t kMostElements = 8192;  // A larger constant is not looked at.

// Returns `sum` as `number` times the sum over its axes.
std::optional<RowSum> withFactor(RowSum sum, const Shape& shape, double number) {
  for (const int64_t axis : sum.axes) number *= static_cast<double>(shape.at(static_cast<size_t>(axis)));
  sum.factor = number;
  return sum.axes.empty() ? std::nullopt : std::optional(std::move(sum));
}

std::optional<RowSum> reduction(const graph::Graph& graph, const Node& node) {
  const Shape* shape = ops::shapeOf(graph, node.operands[0]);
  const auto axes = graph::intsAttribute(node, "axes");
  const auto op = graph::stringAttribute(node, "op");
  const bool keepdim = graph::boolAttribute(node, "keepdim");
  const bool variance = op == "var" && keepdim && !graph::boolAttribute(node, "unbiased", true);
  if (shape == nullptr || !axes || !(op == "mean" || op == "sum" || variance)) return std::nullopt;
  RowSum sum{.data = node.operands[0], .axes = *axes, .ofSquaredDistance = variance};
  for (int64_t axis = 0; axis < static_cast<int64_t>(shape->size()); ++axis) {
    if (keepdim || !contains(sum.axes, axis)) sum.order.push_back(axis);
  }
  if (op != "sum") return sum;
  return withFactor(std::move(sum), *shape, 1);
}

// x W or x W^T, all of W the same number.
std::optional<RowSum> product(const graph::Graph& graph, const Node& node) {
  const Shape* shape = ops::shapeOf(graph, node.operands[0]);
  const Shape* weight = ops::shapeOf(graph, node.operands.at(1));
  const auto number = sameEverywhere(graph, node.operands[1]);
  const bool alone = node.operands.size() == 2 || node.operands[2] == kNoValue;
  const bool scaled = !ops::plainAlpha(node);
  if (shape == nullptr || weight == nullptr || shape->size() < 2 || !number || !alone || scaled) return std::nullopt;
  if (weight->empty() || weight->size() > 2) return std::nullopt;
  const auto last = static_cast<int64_t>(shape->size()) - 1;
  RowSum sum{.data = node.operands[0], .axes = {last}, .order = std::vector<int64_t>(static_cast<size_t>(last))};
  std::iota(sum.order.begin(), sum.order.end(), 0);
  if (weight->size() == 2) sum.order.push_back(-1);
  return withFactor(std::move(sum), *shape, *number);
}

// "bte,e->bt" and the like.
std::optional<RowSum> einsum(const graph::Graph& graph, const Node& node) {
  const auto equation = graph::stringAttribute(node, "equation");
  if (!equation || node.operands.size() != 2) return std::nullopt;
  const size_t comma = equation->find(','), arrow = equation->find("->");
  if (comma == std::string::npos || arrow == std::string::npos) return std::nullopt;
  const std::string terms[2] = {equation->substr(0, comma), equation->substr(comma + 1, arrow - comma - 1)};
  const std::string result = equation->substr(arrow + 2);
  const auto number = sameEverywhere(graph, node.operands[1]);
  const Shape* shape = ops::shapeOf(graph, node.operands[0]);
  if (!number || shape == nullptr || shape->size() != terms[0].size()) return std::nullopt;
  const auto unknown = [&](char letter) {
    return terms[0].find(letter) == std::string::npos && result.find(letter) == std::string::npos;
  };
  if (std::ranges::any_of(terms[1], unknown)) return std::nullopt;
  RowSum sum{.data = node.operands[0]};
  for (size_t i = 0; i < terms[0].size(); ++i) {
    if (terms[0].find(terms[0][i]) != i) return std::nullopt;
    if (result.find(terms[0][i]) == std::string::npos) sum.axes.push_back(static_cast<int64_t>(i));
  }
  for (const char letter : result) {
    const size_t axis = terms[0].find(letter);
    sum.order.push_back(axis == std::string::npos ? -1 : static_cast<int64_t>(axis));
  }
  return withFactor(std::move(sum), *shape, *number);
}

}  // namespace

std::optional<double> sameEverywhere(const graph::Graph& graph, ValueId value) {
  const ValueId held = value == kNoValue ? kNoValue : constantInView(graph, value);
  if (held == kNoValue) return std::nullopt;
  const auto& view = graph.constant(graph.value(held).constant).view;
  if (graph::elementCount(view.shape).value_or(kMostElements + 1) > kMostElements) return std::nullopt;
  const auto numbers = graph::toDoubles(view);
  const bool same = numbers && !numbers->empty() &&
                    std::ranges::all_of(*numbers, [&](double number) { return number == numbers->front(); });
  return same ? std::optional(numbers->front()) : std::nullopt;
}

std::optional<RowSum> rowSum(const graph::Graph& graph, const Node& node) {
  switch (node.kind) {
    case OpKind::Reduce:
      return reduction(graph, node);
    case OpKind::MatMul:
    case OpKind::Linear:
      return product(graph, node);
    case OpKind::Einsum:
      return einsum(graph, node);
    default:
      return std::nullopt;
  }
}

}  // namespace normlens::analysis
