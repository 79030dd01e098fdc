// A question for the size of an axis and its subquestions, each answered once: what a size rule asks. Private to ops.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "core/ops/axis_size.h"

namespace normlens::ops {

inline constexpr AxisSize kFixedSize{AxisSize::Kind::Fixed, graph::kNoValue, 0};

class SizeQuestion {
 public:
  explicit SizeQuestion(const graph::Graph& graph) : graph_(graph) {}

  [[nodiscard]] const graph::Graph& graph() const { return graph_; }
  AxisSize of(graph::ValueId value, size_t axis);
  bool isFixed(graph::ValueId value, size_t axis) { return of(value, axis).kind == AxisSize::Kind::Fixed; }
  AxisSize fixedAs(graph::ValueId from, size_t axis, const AxisSize& own) {
    return isFixed(from, axis) ? kFixedSize : own;
  }
  bool isBroadcast(graph::ValueId operand, size_t fromLast);
  // The number of axes follows from those of the inputs, which a file may leave open.
  bool hasRankOfProbe(graph::ValueId value);
  bool isFixedCut(const graph::Node& cut);

 private:
  [[nodiscard]] bool isAssumed(graph::ValueId input, size_t fromLast) const;
  // A tensor of the file that no caller can give in other sizes.
  [[nodiscard]] bool isHeld(const graph::Value& made) const;
  [[nodiscard]] bool isFixedInput(graph::ValueId value, size_t axis) const;
  bool ranksAreDeclared();

  const graph::Graph& graph_;
  std::map<std::pair<graph::ValueId, size_t>, AxisSize> answers_;
  std::map<graph::ValueId, bool> ranked_;  // hasRankOfProbe
  std::optional<bool> ranksDeclared_;
  int depth_ = 0;
};

}  // namespace normlens::ops
