#include <algorithm>

#include "core/ops/axis_size.h"
#include "core/ops/axis_view.h"
#include "core/ops/rule_sets.h"
#include "core/ops/size_question.h"

namespace normlens::ops {

bool isLinearReduce(const Node& node) {
  const auto op = graph::stringAttribute(node, "op");
  return op == "mean" || op == "sum";
}

namespace {

// Variance and standard deviation do not see a shift of all the values that they are taken over.
bool isSpread(const Node& node) {
  const auto op = graph::stringAttribute(node, "op");
  return op == "var" || op == "std";
}

std::optional<Pattern> spreadGroups(const Graph& graph, const Node& node) {
  const Shape* shape = shapeOf(graph, node.operands.at(0));
  const auto axes = graph::intsAttribute(node, "axes");
  SizeQuestion sizes(graph);
  const bool known = shape != nullptr && axes && areAxesAsProbed(sizes, node, *axes);
  return known ? std::optional(Pattern::overAxes(*shape, *axes)) : std::nullopt;
}

bool listed(const std::vector<int64_t>& axes, size_t axis) {
  return std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
}

// x - mean(x), nothing else, reads this mean.
bool onlyForCentering(const Graph& graph, const Node& reduce, const Pattern& shift) {
  const auto& mean = graph.value(reduce.outputs.at(0));
  if (mean.uses.empty()) return false;
  return std::all_of(mean.uses.begin(), mean.uses.end(), [&](const graph::Use& use) {
    if (use.node == graph::kNone || use.operand != 1) return false;
    const auto centering = explicitCentering(graph, graph.node(use.node));
    return centering && centering->input == reduce.operands[0] && shift.coversGroupsOf(centering->pattern);
  });
}

}  // namespace

ZeroMean reduceZeroMean(const Graph& graph, const Node& node, int, const Pattern& pattern) {
  if (!isLinearReduce(node)) return ZeroMean::refused("it is not linear");
  const Shape* in = shapeOf(graph, node.operands.at(0));
  const Shape* out = shapeOf(graph, node.outputs[0]);
  const auto axes = graph::intsAttribute(node, "axes");
  const bool keepdim = graph::boolAttribute(node, "keepdim");
  const auto dims = in == nullptr || out == nullptr ? std::nullopt : alignTo(pattern, *out);
  if (!dims || !axes) return ZeroMean::refused(kNoShape);
  FactorsPerDim wide;
  size_t next = 0;
  for (size_t i = 0; i < in->size(); ++i) {
    if (listed(*axes, i)) {
      wide.push_back(wholeKept((*in)[i]));
      next += keepdim ? 1 : 0;
    } else {
      wide.push_back(dims->at(next++));
    }
  }
  return ZeroMean::of({{node.operands[0], joinDims(wide)}});
}

Shift reduceShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  if (operand != 0) return Shift::refused("the shifted values are its parameter");
  if (isSpread(node)) {
    const auto groups = spreadGroups(graph, node);
    if (groups && pattern.coversGroupsOf(*groups)) return Shift::absorbed();
    return Shift::refused("it takes the spread over more than the shift is constant on");
  }
  if (!isLinearReduce(node)) return Shift::refused("it is not linear");
  if (onlyForCentering(graph, node, pattern)) return Shift::absorbed();
  const Shape* in = shapeOf(graph, node.operands[0]);
  const auto axes = graph::intsAttribute(node, "axes");
  auto dims = in == nullptr ? std::nullopt : alignTo(pattern, *in);
  if (!dims || !axes) return Shift::refused(kNoShape);
  for (size_t i = 0; i < dims->size(); ++i) {
    if (listed(*axes, i)) (*dims)[i].clear();
  }
  Pattern result = joinDims(*dims);
  if (!result.sumsAnything()) return Shift::refused("it takes the mean or sum of the shifted channels");
  return Shift::carried({{node.outputs[0], std::move(result)}});
}

// y = M x along the axes, with one M for all other indices: sums over other axes pass through it.
ZeroMean mixZeroMean(const Graph& graph, const Node& node, int, const Pattern& pattern) {
  const Shape* in = shapeOf(graph, node.operands.at(0));
  const Shape* out = shapeOf(graph, node.outputs[0]);
  const auto axes = graph::intsAttribute(node, "axes");
  auto dims = in == nullptr || out == nullptr ? std::nullopt : alignTo(pattern, *out);
  if (!dims || !axes || in->size() != out->size()) return ZeroMean::refused(kNoShape);
  for (const int64_t axis : *axes) (*dims).at(static_cast<size_t>(axis)) = wholeKept(in->at(static_cast<size_t>(axis)));
  Pattern needed = joinDims(*dims);
  if (!needed.sumsAnything()) return ZeroMean::refused("it mixes the norm's channels");
  return ZeroMean::of({{node.operands[0], std::move(needed)}});
}

Shift mixShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  const Shape* in = shapeOf(graph, node.operands.at(0));
  const Shape* out = shapeOf(graph, node.outputs[0]);
  const auto axes = graph::intsAttribute(node, "axes");
  auto dims = in == nullptr || out == nullptr ? std::nullopt : alignTo(pattern, *in);
  if (operand != 0 || !dims || !axes || in->size() != out->size()) return Shift::refused(kNoShape);
  for (const int64_t axis : *axes)
    (*dims).at(static_cast<size_t>(axis)) = wholeKept(out->at(static_cast<size_t>(axis)));
  Pattern result = joinDims(*dims);
  if (!result.sumsAnything()) return Shift::refused("it mixes the shifted channels");
  return Shift::carried({{node.outputs[0], std::move(result)}});
}

AxisSize reduceSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  if (!graph::intsAttribute(node, "axes")) return own;
  if (graph::boolAttribute(node, "keepdim")) {
    return listsAxis(node, "axes", own.axis) ? kFixedSize : sizes.of(node.operands[0], own.axis);
  }
  size_t axis = 0;
  for (size_t kept = 0;; ++axis) {
    if (listsAxis(node, "axes", axis)) continue;
    if (kept++ == own.axis) break;
  }
  return sizes.of(node.operands[0], axis);
}

AxisSize mixSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  if (listsAxis(node, "ones", own.axis)) return kFixedSize;
  const bool kept = graph::intsAttribute(node, "axes") && !listsAxis(node, "axes", own.axis);
  return kept ? sameSize(sizes, node, own) : own;
}

}  // namespace normlens::ops
