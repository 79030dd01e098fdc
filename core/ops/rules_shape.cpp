// Axes joined, split, moved or repeated, and what is looked up along them: Reshape, Permute, Expand, Roll, Gather.
#include <algorithm>

#include "core/ops/axis_size.h"
#include "core/ops/axis_view.h"
#include "core/ops/reshape_groups.h"
#include "core/ops/rule_sets.h"
#include "core/ops/size_question.h"

namespace normlens::ops {

ZeroMean reshapeZeroMean(const Graph& graph, const Node& node, int, const Pattern& pattern) {
  if (sumsOverOpenSize(graph, node, pattern)) return ZeroMean::refused("a run decides how it is cut into rows");
  return ZeroMean::of({{node.operands.at(0), pattern}});
}
Shift reshapeShift(const Graph&, const Node& node, int operand, const Pattern& pattern) {
  if (operand != 0) return Shift::refused("it reads the shifted values");
  return Shift::carried({{node.outputs[0], pattern}});
}

ZeroMean permuteZeroMean(const Graph& graph, const Node& node, int output, const Pattern& pattern) {
  const auto perm = graph::intsAttribute(node, "perm");
  const auto view = viewOf(graph, node, 0, output, pattern, false);
  if (!perm || !view || perm->size() != view->dims.size()) return ZeroMean::refused(kNoShape);
  FactorsPerDim in(perm->size());
  for (size_t i = 0; i < perm->size(); ++i) in.at(static_cast<size_t>((*perm)[i])) = view->dims[i];
  return needs(node.operands[0], in);
}
Shift permuteShift(const Graph& graph, const Node& node, int, const Pattern& pattern) {
  const auto perm = graph::intsAttribute(node, "perm");
  const auto view = viewOf(graph, node, 0, 0, pattern, true);
  if (!perm || !view || perm->size() != view->dims.size()) return Shift::refused(kNoShape);
  FactorsPerDim out(perm->size());
  for (size_t i = 0; i < perm->size(); ++i) out[i] = view->dims.at(static_cast<size_t>((*perm)[i]));
  return carries(node.outputs[0], out);
}

ZeroMean expandZeroMean(const Graph& graph, const Node& node, int, const Pattern& pattern) {
  const Shape* out = shapeOf(graph, node.outputs[0]);
  auto part = out == nullptr ? std::nullopt : narrowedInEveryRun(graph, node.operands.at(0), pattern, *out);
  if (!part) return ZeroMean::refused(kNoShape);
  return ZeroMean::of({{node.operands[0], std::move(*part)}});
}
Shift expandShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  const Shape* out = shapeOf(graph, node.outputs[0]);
  if (operand != 0) return Shift::absorbed();  // expand_as reads the other operand's shape only
  auto wide = out == nullptr ? std::nullopt : widenedInEveryRun(graph, node.operands.at(0), pattern, *out);
  if (!wide) return Shift::refused(kNoShape);
  return Shift::carried({{node.outputs[0], std::move(*wide)}});
}

namespace {

// Positions move within each of these axes: harmless where an axis is all summed or all kept, everywhere.
bool unmoved(FactorsPerDim& dims, const std::vector<int64_t>& axes, const Shape& shape) {
  for (const int64_t axis : axes) {
    auto& factors = dims.at(static_cast<size_t>(axis));
    const bool summed = anySummed(factors);
    if (!summed) {
      factors = wholeKept(shape[static_cast<size_t>(axis)]);
    } else if (!std::all_of(factors.begin(), factors.end(), [](const Factor& f) { return f.summed && f.whole(); })) {
      return false;
    }
  }
  return true;
}

}  // namespace

ZeroMean rollZeroMean(const Graph& graph, const Node& node, int output, const Pattern& pattern) {
  auto view = viewOf(graph, node, 0, output, pattern, false);
  const auto axes = graph::intsAttribute(node, "axes");
  if (!view || !axes) return ZeroMean::refused(kNoShape);
  if (!unmoved(view->dims, *axes, *view->out)) return ZeroMean::refused(kCutsChannels);
  return needs(node.operands[0], view->dims);
}
Shift rollShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  auto view = viewOf(graph, node, 0, 0, pattern, true);
  const auto axes = graph::intsAttribute(node, "axes");
  if (operand != 0 || !view || !axes) return Shift::refused(kNoShape);
  if (!unmoved(view->dims, *axes, *view->in)) return Shift::refused(kCutsChannels);
  return carries(node.outputs[0], view->dims);
}

namespace {

// Counts for a Gather how many of x's axes are indexed together, and how many of y's are there in their place.
struct Indexed {
  size_t axes = 0;
  size_t made = 0;
};
std::optional<Indexed> indexedBy(const Node& node, const AxisView& view) {
  const auto axes = static_cast<size_t>(graph::intAttribute(node, "count").value_or(1));
  if (axes < 1 || view.axis + axes > view.in->size() || view.out->size() + axes < view.in->size()) return std::nullopt;
  return Indexed{axes, view.out->size() + axes - view.in->size()};
}

}  // namespace

ZeroMean gatherZeroMean(const Graph& graph, const Node& node, int output, const Pattern& pattern) {
  const auto view = viewOf(graph, node, 0, output, pattern, false);
  const auto indexed = view ? indexedBy(node, *view) : std::nullopt;
  if (!indexed) return ZeroMean::refused(kNoShape);
  const auto axis = static_cast<std::ptrdiff_t>(view->axis);
  FactorsPerDim dims(view->dims.begin(), view->dims.begin() + axis);
  for (size_t i = 0; i < indexed->axes; ++i) dims.push_back(wholeKept((*view->in)[view->axis + i]));
  dims.insert(dims.end(), view->dims.begin() + axis + static_cast<std::ptrdiff_t>(indexed->made), view->dims.end());
  Pattern needed = joinDims(dims);
  if (!needed.sumsAnything()) return ZeroMean::refused("the norm sums over positions that are looked up at run time");
  return ZeroMean::of({{node.operands[0], std::move(needed)}});
}
Shift gatherShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  if (operand != 0) return Shift::refused("the shifted values are its index");
  const auto view = viewOf(graph, node, 0, 0, pattern, true);
  const auto indexed = view ? indexedBy(node, *view) : std::nullopt;
  if (!indexed) return Shift::refused(kNoShape);
  const auto axis = static_cast<std::ptrdiff_t>(view->axis), axes = static_cast<std::ptrdiff_t>(indexed->axes);
  const bool constant = std::all_of(view->dims.begin() + axis, view->dims.begin() + axis + axes,
                                    [](const Factors& f) { return f.size() == 1 && f[0].summed && f[0].whole(); });
  FactorsPerDim dims(view->dims.begin(), view->dims.begin() + axis);
  for (size_t i = 0; i < indexed->made; ++i) {
    const int64_t size = (*view->out)[view->axis + i];
    dims.push_back({Factor{size, 0, size, constant}});
  }
  dims.insert(dims.end(), view->dims.begin() + axis + axes, view->dims.end());
  Pattern result = joinDims(dims);
  if (!result.sumsAnything()) return Shift::refused("it looks up single shifted values");
  return Shift::carried({{node.outputs[0], std::move(result)}});
}

AxisSize permuteSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  const auto perm = graph::intsAttribute(node, "perm");
  const bool known = perm && own.axis < perm->size();
  return known ? sizes.of(node.operands[0], static_cast<size_t>((*perm)[own.axis])) : own;
}

AxisSize expandSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  const Shape& in = *shapeOf(sizes.graph(), node.operands[0]);
  const Shape& out = *shapeOf(sizes.graph(), own.value);
  const size_t fromLast = out.size() - own.axis;
  const bool kept = out[own.axis] > 1 && in.size() >= fromLast && in[in.size() - fromLast] == out[own.axis];
  if (kept) return sizes.of(node.operands[0], in.size() - fromLast);
  return listsAxis(node, "fixed", own.axis) ? kFixedSize : own;
}

AxisSize reshapeSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  if (listsAxis(node, "ones", own.axis)) return kFixedSize;
  const graph::ValueId x = node.operands[0];
  for (const AxisGroup& group : groupsOf(*shapeOf(sizes.graph(), x), *shapeOf(sizes.graph(), own.value))) {
    if (std::ranges::find(group.out, own.axis) == group.out.end()) continue;
    if (std::ranges::any_of(group.out, [&](size_t axis) { return listsAxis(node, "computed", axis); }))
      return {AxisSize::Kind::Torn, own.value, own.axis};
    if (std::ranges::all_of(group.in, [&](size_t axis) { return sizes.isFixed(x, axis); })) return kFixedSize;
    return group.in.size() == 1 && group.out.size() == 1 ? sizes.of(x, group.in[0]) : own;
  }
  return own;
}

AxisSize gatherSize(SizeQuestion& sizes, const Node& node, const AxisSize& own) {
  const auto axis = axisOf(node);
  const auto count = static_cast<size_t>(graph::intAttribute(node, "count").value_or(1));
  const size_t in = shapeOf(sizes.graph(), node.operands[0])->size(), out = shapeOf(sizes.graph(), own.value)->size();
  if (!axis || out + count < in) return own;
  const size_t made = out + count - in;
  if (own.axis < *axis) return sizes.of(node.operands[0], own.axis);
  if (own.axis >= *axis + made) return sizes.of(node.operands[0], own.axis - made + count);
  const graph::ValueId index = graph::operandAt(node, 1);
  const Shape* shape = shapeOf(sizes.graph(), index);
  const bool alone = node.operands.size() == 2 && shape != nullptr && shape->size() == made;
  return alone ? sizes.of(index, own.axis - *axis) : own;
}

}  // namespace normlens::ops
