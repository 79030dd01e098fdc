#include "core/ops/axis_view.h"

#include <algorithm>

namespace normlens::ops {

std::optional<AxisView> viewOf(const graph::Graph& graph, const graph::Node& node, size_t operand, int output,
                               const Pattern& pattern, bool ofInput) {
  AxisView view;
  if (operand >= node.operands.size() || static_cast<size_t>(output) >= node.outputs.size()) return std::nullopt;
  view.in = shapeOf(graph, node.operands[operand]);
  view.out = shapeOf(graph, node.outputs[static_cast<size_t>(output)]);
  if (view.in == nullptr || view.out == nullptr) return std::nullopt;
  if (const auto axis = graph::intAttribute(node, "axis")) {
    if (*axis < 0) return std::nullopt;
    view.axis = static_cast<size_t>(*axis);
  }
  auto dims = alignTo(pattern, ofInput ? *view.in : *view.out);
  if (!dims) return std::nullopt;
  view.dims = std::move(*dims);
  return view;
}

std::optional<size_t> axisOf(const graph::Node& node) {
  const auto axis = graph::intAttribute(node, "axis");
  return axis && *axis >= 0 ? std::optional(static_cast<size_t>(*axis)) : std::nullopt;
}

bool listsAxis(const graph::Node& node, std::string_view attribute, size_t axis) {
  const auto axes = graph::intsAttribute(node, attribute);
  return axes && std::ranges::find(*axes, static_cast<int64_t>(axis)) != axes->end();
}

}  // namespace normlens::ops
