// Provides what the rules of nodes that move, cut or join axes start from. Private to ops.
#pragma once

#include <optional>

#include "core/ops/index_maps.h"
#include "core/ops/rules.h"

namespace normlens::ops {

inline constexpr const char* kCutsChannels = "it cuts through the norm's channels";

// Both shapes, the node's axis, and the pattern cut at the axes of one side.
struct AxisView {
  const graph::Shape* in = nullptr;
  const graph::Shape* out = nullptr;
  size_t axis = 0;
  FactorsPerDim dims;
};

// nullopt where a shape is not known or the pattern straddles its axes.
[[nodiscard]] std::optional<AxisView> viewOf(const graph::Graph& graph, const graph::Node& node, size_t operand,
                                             int output, const Pattern& pattern, bool ofInput);

// The node's axis, where the file writes it.
[[nodiscard]] std::optional<size_t> axisOf(const graph::Node& node);

// An attribute of the node names the axis.
[[nodiscard]] bool listsAxis(const graph::Node& node, std::string_view attribute, size_t axis);

[[nodiscard]] inline ZeroMean needs(graph::ValueId value, const FactorsPerDim& dims) {
  return ZeroMean::of({{value, joinDims(dims)}});
}
[[nodiscard]] inline Shift carries(graph::ValueId value, const FactorsPerDim& dims) {
  return Shift::carried({{value, joinDims(dims)}});
}

}  // namespace normlens::ops
