#include <algorithm>
#include <numeric>

#include "core/graph/queries.h"
#include "core/ops/axis_size.h"
#include "core/ops/axis_view.h"
#include "core/ops/rule_sets.h"
#include "core/ops/size_question.h"

namespace normlens::ops {
namespace {

bool extraOutputsUsed(const Graph& graph, const Node& node) {
  return std::any_of(node.outputs.begin() + 1, node.outputs.end(),
                     [&](ValueId v) { return !graph.value(v).uses.empty(); });
}

std::optional<Pattern> groupNormGroups(SizeQuestion& sizes, const Node& node, const Shape& shape, int64_t groups) {
  if (shape.size() < 2 || groups < 1 || shape[1] % groups != 0) return std::nullopt;
  std::vector<int64_t> positions(shape.size() - 2);
  std::iota(positions.begin(), positions.end(), 2);
  if (!areAxesAsProbed(sizes, node, positions)) return std::nullopt;
  const int64_t spatial = std::accumulate(shape.begin() + 2, shape.end(), int64_t{1}, std::multiplies<>());
  return Pattern::fromFactors({{shape[0] * groups, 0, shape[0] * groups, false},
                               {shape[1] / groups * spatial, 0, shape[1] / groups * spatial, true}});
}

// Describes what a BatchNorm adds per channel once its scale is gone, as numpy broadcasting wants it: in front of the
// spatial axes.
struct ChannelShift {
  size_t operand = 0;
  Shape shape;
};

std::optional<ChannelShift> channelShift(const Graph& graph, const Node& node) {
  const auto operand = graph::intAttribute(node, "shift_operand");
  const Shape* full = shapeOf(graph, node.outputs[0]);
  if (!operand || full == nullptr || full->size() < 2) return std::nullopt;
  ChannelShift out{static_cast<size_t>(*operand), Shape(full->size() - 1, 1)};
  out.shape[0] = (*full)[1];
  return out;
}

// The groups over which a norm or softmax takes its mean; nullopt for other kinds or unknown shapes.
std::optional<Pattern> normalizedGroups(SizeQuestion& sizes, const Node& node) {
  const Shape* shape = shapeOf(sizes.graph(), operandAt(node, 0));
  if (shape == nullptr) return std::nullopt;
  switch (node.kind) {
    case OpKind::LayerNorm: {
      const auto axes = graph::intsAttribute(node, "axes");
      const bool known = axes && areAxesAsProbed(sizes, node, *axes);
      return known ? std::optional(Pattern::overAxes(*shape, *axes)) : std::nullopt;
    }
    case OpKind::Softmax: {
      const auto axis = graph::intAttribute(node, "axis");
      const bool known = axis && areAxesAsProbed(sizes, node, {{*axis}});
      return known ? std::optional(Pattern::overAxes(*shape, {{*axis}})) : std::nullopt;
    }
    case OpKind::GroupNorm:
      return groupNormGroups(sizes, node, *shape, graph::intAttribute(node, "groups").value_or(0));
    case OpKind::InstanceNorm:
      return shape->size() < 2 ? std::nullopt : groupNormGroups(sizes, node, *shape, (*shape)[1]);
    default:
      return std::nullopt;
  }
}

bool isOne(const Node& node, std::string_view attribute) {
  return graph::floatAttribute(node, attribute).value_or(1.0) == 1.0 &&
         graph::intAttribute(node, attribute).value_or(1) == 1;
}

}  // namespace

bool plainAlpha(const Node& node) { return isOne(node, "alpha"); }
bool plainBeta(const Node& node) { return isOne(node, "beta"); }

std::optional<ExplicitCentering> explicitCentering(const Graph& graph, const Node& node) {
  if (node.kind != OpKind::Sub || node.operands.size() < 2) return std::nullopt;
  const ValueId input = node.operands[0];
  const ValueId mean = node.operands[1];
  if (mean == kNoValue || graph.value(mean).producer == graph::kNone) return std::nullopt;
  const Node& reduce = graph.node(graph.value(mean).producer);
  if (reduce.kind != OpKind::Reduce || graph::stringAttribute(reduce, "op") != "mean" || reduce.operands.at(0) != input)
    return std::nullopt;
  if (!plainAlpha(node)) return std::nullopt;
  // Written to between the mean and the subtraction, they are no longer what the mean was taken of.
  if (!graph.value(input).opaqueReason.empty() || !graph.value(mean).opaqueReason.empty()) return std::nullopt;
  const auto axes = graph::intsAttribute(reduce, "axes");
  const Shape* shape = shapeOf(graph, input);
  if (!axes || shape == nullptr || !graph::boolAttribute(reduce, "keepdim")) return std::nullopt;
  SizeQuestion sizes(graph);
  if (!areAxesAsProbed(sizes, reduce, *axes)) return std::nullopt;
  return ExplicitCentering{input, Pattern::overAxes(*shape, *axes)};
}

// y = gamma * n + beta, and n sums to 0 over the norm's own groups.
ZeroMean layerNormZeroMean(SizeQuestion& sizes, const Node& node, int output, const Pattern& pattern) {
  const Graph& graph = sizes.graph();
  if (output != 0) return ZeroMean::refused("it is a statistic of the norm");
  const auto groups = normalizedGroups(sizes, node);
  if (!groups) return ZeroMean::refused(kNoShape);
  if (!pattern.coversGroupsOf(*groups)) return ZeroMean::refused("it normalizes over other channels than this norm");
  const Shape* full = shapeOf(graph, node.outputs[0]);
  if (full == nullptr) return ZeroMean::refused(kNoShape);
  const ValueId gamma = operandAt(node, 1);
  const ValueId beta = operandAt(node, 2);
  if (gamma != kNoValue) {
    const auto seen = narrowedInEveryRun(graph, gamma, pattern, *full);
    if (!seen || !isConstantAlong(graph, gamma, *seen)) return ZeroMean::refused(kUnequalGamma);
  }
  if (beta == kNoValue) return ZeroMean::proven();
  auto seen = narrowedInEveryRun(graph, beta, pattern, *full);
  if (!seen) return ZeroMean::refused(kNoShape);
  return ZeroMean::of({{beta, std::move(*seen)}});
}

// y = gamma * x / r + beta, with one number r for each of the norm's own groups: zero-mean where x and beta are.
ZeroMean rmsNormZeroMean(SizeQuestion& sizes, const Node& node, int output, const Pattern& pattern) {
  const Graph& graph = sizes.graph();
  if (output != 0) return ZeroMean::refused("it is a statistic of the norm");
  const Shape* shape = shapeOf(graph, operandAt(node, 0));
  const Shape* full = shapeOf(graph, node.outputs[0]);
  const auto axes = graph::intsAttribute(node, "axes");
  if (shape == nullptr || full == nullptr || !axes || !areAxesAsProbed(sizes, node, *axes))
    return ZeroMean::refused(kNoShape);
  if (!Pattern::overAxes(*shape, *axes).coversGroupsOf(pattern) || *shape != *full)
    return ZeroMean::refused("an RMSNorm divides these channels by different numbers");
  if (const ValueId gamma = operandAt(node, 1); gamma != kNoValue) {
    const auto seen = narrowedInEveryRun(graph, gamma, pattern, *full);
    if (!seen || !isConstantAlong(graph, gamma, *seen)) return ZeroMean::refused(kUnequalGamma);
  }
  std::vector<Demand> needs{{node.operands[0], pattern}};
  if (const ValueId beta = operandAt(node, 2); beta != kNoValue) {
    auto seen = narrowedInEveryRun(graph, beta, pattern, *full);
    if (!seen) return ZeroMean::refused(kNoShape);
    needs.push_back({beta, std::move(*seen)});
  }
  return ZeroMean::of(std::move(needs));
}
Shift rmsNormShift(const Graph&, const Node&, int, const Pattern&) {
  return Shift::refused("it reads the shifted values");
}

Shift layerNormShift(SizeQuestion& sizes, const Node& node, int operand, const Pattern& pattern) {
  const Graph& graph = sizes.graph();
  if (operand == 0) {
    const auto groups = normalizedGroups(sizes, node);
    if (!groups) return Shift::refused(kNoShape);
    if (extraOutputsUsed(graph, node)) return Shift::refused("its mean or deviation is used elsewhere");
    if (!pattern.coversGroupsOf(*groups))
      return Shift::refused("it normalizes over more than the shift is constant on");
    return Shift::absorbed();
  }
  if (operand != 2) return Shift::refused("the shifted values are its \xCE\xB3");
  const Shape* full = shapeOf(graph, node.outputs[0]);
  auto wide = full == nullptr ? std::nullopt : widenedInEveryRun(graph, node.operands[2], pattern, *full);
  if (!wide) return Shift::refused(kNoShape);
  return Shift::carried({{node.outputs[0], std::move(*wide)}});
}

ZeroMean batchNormZeroMean(const Graph& graph, const Node& node, int output, const Pattern& pattern) {
  const auto shift = channelShift(graph, node);
  if (!shift) return otherNormZeroMean(graph, node, output, pattern);
  auto part = narrowToOperand(pattern, *shapeOf(graph, node.outputs[0]), shift->shape);
  if (!part) return ZeroMean::refused(kNoShape);
  return ZeroMean::of({{node.operands[0], pattern}, {node.operands.at(shift->operand), std::move(*part)}});
}
Shift batchNormShift(SizeQuestion& sizes, const Node& node, int operand, const Pattern& pattern) {
  const Graph& graph = sizes.graph();
  const auto shift = channelShift(graph, node);
  if (!shift) return otherNormShift(sizes, node, operand, pattern);
  if (operand == 0) return Shift::carried({{node.outputs[0], pattern}});
  if (static_cast<size_t>(operand) != shift->operand) return Shift::refused("the shifted values are a scale");
  auto wide = widenFromOperand(pattern, shift->shape, *shapeOf(graph, node.outputs[0]));
  if (!wide) return Shift::refused(kNoShape);
  return Shift::carried({{node.outputs[0], std::move(*wide)}});
}

ZeroMean otherNormZeroMean(const Graph&, const Node&, int, const Pattern&) {
  return ZeroMean::refused("it normalizes over other channels than this norm");
}
Shift otherNormShift(SizeQuestion& sizes, const Node& node, int operand, const Pattern& pattern) {
  const Graph& graph = sizes.graph();
  const auto groups = operand == 0 ? normalizedGroups(sizes, node) : std::nullopt;
  if (!groups) return Shift::refused("it reads the shifted values");
  if (extraOutputsUsed(graph, node)) return Shift::refused("its mean or deviation is used elsewhere");
  if (!pattern.coversGroupsOf(*groups)) return Shift::refused("it normalizes over more than the shift is constant on");
  return Shift::absorbed();
}

ZeroMean softmaxZeroMean(const Graph&, const Node&, int, const Pattern&) {
  return ZeroMean::refused("its output is positive");
}
Shift softmaxShift(SizeQuestion& sizes, const Node& node, int operand, const Pattern& pattern) {
  const auto groups = operand == 0 ? normalizedGroups(sizes, node) : std::nullopt;
  if (groups && pattern.coversGroupsOf(*groups)) return Shift::absorbed();
  return Shift::refused("it is a softmax over other values than the shift is constant on");
}

AxisSize layerNormSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  if (sizes.graph().value(own.value).output != 0) return own;
  const bool written = listsAxis(node, "axes", own.axis) && graph::intsAttribute(node, "normalized_shape");
  return written ? kFixedSize : broadcastSize(sizes, node, own);
}

// Returns the size for a norm with a scale for each channel, axis 1. GroupNormalization before opset 21 has one for
// each group instead.
AxisSize channelNormSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  const Graph& graph = sizes.graph();
  const ValueId gamma = graph::operandAt(node, 1);
  const Shape* scale = shapeOf(graph, gamma);
  const bool ofGroups = node.kind == OpKind::GroupNorm && scale != nullptr &&
                        *scale == Shape{graph::intAttribute(node, "groups").value_or(0)};
  if (own.axis == 1 && graph::isHeld(graph, gamma) && !ofGroups) return kFixedSize;
  return graph.value(own.value).output == 0 ? sizes.of(node.operands[0], own.axis) : own;
}

}  // namespace normlens::ops
