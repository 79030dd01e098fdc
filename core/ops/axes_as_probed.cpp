// Decides which of the probe's sizes the rules may rely on.
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "core/graph/queries.h"
#include "core/ops/axis_size.h"
#include "core/ops/axis_view.h"
#include "core/ops/index_maps.h"
#include "core/ops/reshape_groups.h"
#include "core/ops/size_question.h"

namespace normlens::ops {

using graph::Graph;
using graph::Node;
using graph::OpKind;
using graph::Shape;
using graph::ValueId;

namespace {

// Gamma or beta, which lie along the last axes of x.
bool hasWeightAlong(const Graph& graph, const Node& norm, const Shape& shape, size_t axis) {
  const size_t fromLast = shape.size() - axis;
  return std::ranges::any_of(std::array<size_t, 2>{1, 2}, [&](size_t operand) {
    const ValueId weight = graph::operandAt(norm, operand);
    const Shape* part = shapeOf(graph, weight);
    if (part == nullptr || !graph::isHeld(graph, weight) || part->size() < fromLast) return false;
    return (*part)[part->size() - fromLast] == shape[axis];
  });
}

// An operand of shape `part` is repeated along axis i of `full`.
bool isBroadcastInProbe(const Shape& part, const Shape& full, size_t i) {
  const size_t missing = full.size() - part.size();
  return full[i] != 1 && (i < missing || part[i - missing] == 1);
}

}  // namespace

bool areAxesAsProbed(const Graph& graph, const Node& reader, std::span<const int64_t> axes) {
  const ValueId x = graph::operandAt(reader, 0);
  const Shape* shape = shapeOf(graph, x);
  if (shape == nullptr) return false;
  const bool normalizes = reader.kind == OpKind::LayerNorm || reader.kind == OpKind::RmsNorm;
  if (normalizes && graph::intsAttribute(reader, "normalized_shape")) return true;
  return std::ranges::all_of(axes, [&](int64_t listed) {
    const auto axis = static_cast<size_t>(listed);
    if (axis >= shape->size() || listsAxis(reader, "ones", axis)) return axis < shape->size();
    const int64_t size = (*shape)[axis];
    if (normalizes && size > 1 && hasWeightAlong(graph, reader, *shape, axis)) return true;
    const AxisSize found = axisSize(graph, x, axis);
    return size == 1 ? found.kind == AxisSize::Kind::Fixed : found.kind != AxisSize::Kind::Torn;
  });
}

bool isAxisKept(SizeQuestion& sizes, const AxisSize& size, ValueId x, const Shape& y, size_t axis) {
  const Shape* shape = shapeOf(sizes.graph(), x);
  const auto before = [](const Shape& of, size_t count) {
    return std::accumulate(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(count), int64_t{1},
                           std::multiplies<>());
  };
  for (size_t i = 0; shape != nullptr && i < shape->size(); ++i) {
    const bool stands = (*shape)[i] == y[axis] && before(*shape, i) == before(y, axis);
    if (stands && sizes.of(x, i) == size) return true;
  }
  return false;
}

std::optional<Pattern> narrowedInEveryRun(const Graph& graph, ValueId operand, const Pattern& pattern,
                                          const Shape& full) {
  const Shape* part = shapeOf(graph, operand);
  const auto dims = part == nullptr || part->size() > full.size() ? std::nullopt : alignTo(pattern, full);
  if (!dims) return std::nullopt;
  for (size_t i = 0; i < full.size(); ++i) {
    if (anySummed((*dims)[i]) && isBroadcastInProbe(*part, full, i) &&
        !isBroadcastInEveryRun(graph, operand, full.size() - i))
      return std::nullopt;
  }
  return narrowToOperand(pattern, full, *part);
}

std::optional<Pattern> widenedInEveryRun(const Graph& graph, ValueId operand, const Pattern& pattern,
                                         const Shape& full) {
  const Shape* part = shapeOf(graph, operand);
  const auto wide = part == nullptr ? std::nullopt : widenFromOperand(pattern, *part, full);
  auto dims = wide ? alignTo(*wide, full) : std::nullopt;
  if (!dims) return std::nullopt;
  for (size_t i = 0; i < full.size(); ++i) {
    if (isBroadcastInProbe(*part, full, i) && !isBroadcastInEveryRun(graph, operand, full.size() - i))
      (*dims)[i] = wholeKept(full[i]);
  }
  return joinDims(*dims);
}

bool writesSizesOfInput(SizeQuestion& sizes, ValueId x, const Shape& y, std::span<const int64_t> written) {
  const Shape* shape = shapeOf(sizes.graph(), x);
  if (shape == nullptr) return false;
  return std::ranges::any_of(groupsOf(*shape, y), [&](const AxisGroup& group) {
    return std::ranges::any_of(written, [&](int64_t axis) { return std::ranges::count(group.out, axis) > 0; }) &&
           std::ranges::any_of(group.in, [&](size_t axis) { return !sizes.isFixed(x, axis); });
  });
}

bool sumsOverOpenSize(const Graph& graph, const Node& reshape, const Pattern& pattern) {
  const ValueId x = graph::operandAt(reshape, 0);
  const Shape* in = shapeOf(graph, x);
  // A Reshape that only adds or drops axes of size 1 leaves rows as they are.
  if (in == nullptr || graph::boolAttribute(reshape, "ones_only")) return false;
  const auto dims = alignTo(pattern, *in);
  for (size_t axis = 0; axis < in->size(); ++axis) {
    const bool summed = !dims || anySummed((*dims)[axis]);  // rows that end within an axis
    if (summed && !isSizeFixed(graph, x, axis)) return true;
  }
  return false;
}

bool restrictsTornAxis(const Graph& graph, const Node& reshape, const Pattern& pattern) {
  const Shape* in = shapeOf(graph, graph::operandAt(reshape, 0));
  const Shape* out = shapeOf(graph, reshape.outputs[0]);
  if (!graph::intsAttribute(reshape, "computed")) return false;
  const auto dims = in == nullptr || out == nullptr ? std::nullopt : alignTo(pattern, *out);
  if (!dims) return true;
  const auto restricted = [&](size_t axis) {
    return !std::ranges::all_of((*dims)[axis], [](const Factor& factor) { return factor.whole(); });
  };
  return std::ranges::any_of(groupsOf(*in, *out), [&](const AxisGroup& group) {
    return std::ranges::any_of(group.out, [&](size_t axis) { return listsAxis(reshape, "computed", axis); }) &&
           std::ranges::any_of(group.out, restricted);
  });
}

}  // namespace normlens::ops
