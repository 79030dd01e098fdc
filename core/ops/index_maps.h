// Maps patterns through changes of shape: broadcasting, slicing, embedding into a longer axis. Shared by the rules.
#pragma once

#include <optional>

#include "core/graph/graph.h"
#include "core/ops/pattern.h"

namespace normlens::ops {

// States why a rule refuses where a shape is missing.
inline constexpr const char* kNoShape = "its shape is not known: the probe run did not reach it";

// The shape of a tensor value, {} of a scalar literal; nullptr when the probe run did not reach it.
[[nodiscard]] const graph::Shape* shapeOf(const graph::Graph& graph, graph::ValueId value);

// A pattern over `full`, seen by an operand of shape `part` that numpy rules broadcast to `full`: axes along which the
// operand is repeated disappear.
[[nodiscard]] std::optional<Pattern> narrowToOperand(const Pattern& pattern, const graph::Shape& full,
                                                     const graph::Shape& part);
// The other way: a shift of the operand is constant along every axis that is broadcast.
[[nodiscard]] std::optional<Pattern> widenFromOperand(const Pattern& pattern, const graph::Shape& part,
                                                      const graph::Shape& full);

// One axis of `size` elements with factors `axis`, seen through the window [start, start + length).
// An empty window region is reported as reaches == false.
struct Window {
  Factors factors;
  bool reaches = true;
};
[[nodiscard]] std::optional<Window> window(const Factors& axis, int64_t start, int64_t length);
// The factors of an axis of `length` elements that is placed at `start` of an axis of `size` elements. With `exact`,
// the region is kept; otherwise an axis without summed factors becomes a whole kept one.
[[nodiscard]] std::optional<Factors> placed(const Factors& axis, int64_t length, int64_t start, int64_t size,
                                            bool exact);

[[nodiscard]] bool anySummed(const Factors& axis);
[[nodiscard]] Factors wholeKept(int64_t size);
// The same factors, none of them summed.
[[nodiscard]] Factors asKept(Factors axis);

}  // namespace normlens::ops
