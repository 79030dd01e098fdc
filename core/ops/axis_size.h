// Which sizes of the probe run every other run has, too. What a pattern takes from a probe must hold for inputs of
// other sizes: a cut whose ends move with the input, or an axis that has size 1 in the probe alone, promises nothing.
#pragma once

#include <span>

#include "core/graph/graph.h"
#include "core/ops/pattern.h"

namespace normlens::ops {

class SizeQuestion;

struct AxisSize {
  enum class Kind : uint8_t {
    Fixed,  // the same in every run: a weight has it, or the file fixes it
    Free,   // the size of `axis` of `value`, which the input decides, as far as is known
    Torn,   // A part of an axis of which only a run knows how it is cut into parts.
  };
  Kind kind = Kind::Free;
  graph::ValueId value = graph::kNoValue;
  size_t axis = 0;

  bool operator==(const AxisSize&) const = default;
};

// The axis of which one element of a ShapeQuery's list is the size; negative: counted from the list's end. rank: of
// what it asks for. ONNX Shape-15: the list may be of the axes from `start` to before `end` alone.
[[nodiscard]] std::optional<size_t> axisQueried(const graph::Node& query, int64_t element, size_t rank);

[[nodiscard]] AxisSize axisSize(const graph::Graph& graph, graph::ValueId value, size_t axis);
[[nodiscard]] bool isSizeFixed(const graph::Graph& graph, graph::ValueId value, size_t axis);

// An operand that is broadcast there in the probe, because it has size 1 or no such axis, is so in every run. fromLast:
// the axis counted from the last, which is 1.
[[nodiscard]] bool isBroadcastInEveryRun(const graph::Graph& graph, graph::ValueId operand, size_t fromLast);

// A Slice, Select, Split or Unbind takes the same positions in every run.
[[nodiscard]] bool isFixedCut(const graph::Graph& graph, const graph::Node& cut);

// These axes of what a norm or reduction reads are in every run what they are in the probe: none has size 1 there that
// may be larger, and none is Torn.
[[nodiscard]] bool areAxesAsProbed(SizeQuestion& sizes, const graph::Node& reader, std::span<const int64_t> axes);

// narrowToOperand() and widenFromOperand() of `operand`, where they hold in every run: what is broadcast in the probe
// alone may be anything along a summed axis (narrowed: nullopt), and is no sum (widened).
[[nodiscard]] std::optional<Pattern> narrowedInEveryRun(const graph::Graph& graph, graph::ValueId operand,
                                                        const Pattern& pattern, const graph::Shape& full);
[[nodiscard]] std::optional<Pattern> widenedInEveryRun(const graph::Graph& graph, graph::ValueId operand,
                                                       const Pattern& pattern, const graph::Shape& full);

struct SizeRead {
  graph::ValueId value = graph::kNoValue;
  size_t axis = 0;
};
// One element of a list of sizes: the same number in every run, or the size of an axis; with neither, a run computes
// it.
struct ListedSize {
  std::optional<int64_t> number;
  std::optional<SizeRead> read;
};

// Returns the axes of y, which a Reshape makes of x by a list of sizes (empty: it is not known), of which a run decides
// what they hold: those whose size is computed; that of -1 where other sizes move it; and where an axis of x has size 1
// in the probe alone and no axis of y shows it, all axes that hold other parts of x once it is longer.
[[nodiscard]] std::vector<int64_t> computedAxes(SizeQuestion& question, graph::ValueId x, const graph::Shape& y,
                                                const std::vector<ListedSize>& sizes);
// The same for axis `made` of y that the axes of x in [first, end) become: the axis, or none.
[[nodiscard]] std::vector<int64_t> axisJoinedAnew(SizeQuestion& sizes, graph::ValueId x, size_t first, size_t end,
                                                  int64_t made);

// The pattern of what a Reshape makes sums along an axis of x that may have another size: how a longer one would be cut
// into rows is not known.
[[nodiscard]] bool sumsOverOpenSize(const graph::Graph& graph, const graph::Node& reshape, const Pattern& pattern);

// The pattern restricts, of what a Reshape makes, an axis that is Torn.
[[nodiscard]] bool restrictsTornAxis(const graph::Graph& graph, const graph::Node& reshape, const Pattern& pattern);

}  // namespace normlens::ops
