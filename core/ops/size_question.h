// A question for the size of an axis and its subquestions, each answered once, for the rules of sizes.
//
// A lowering keeps one while it adds nodes: along a stream of thousands of blocks each question would else walk back to
// the input. An answer of a value in the main block lasts until a node is added that fixes what it rests on.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

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
  // The value has as many axes in every run: they follow from those of the inputs, which a file may leave open.
  bool hasRankOfProbe(graph::ValueId value);
  bool isFixedCut(const graph::Node& cut);
  struct Joined {
    std::vector<int64_t> starts;  // by operand of a concatenation, in the probe run; empty where a shape is missing
    size_t fixed = 0;             // So many operands, from the first on, end at the same place in every run.
  };
  // Valid until the next call.
  const Joined& joinedBy(const graph::Node& concat, size_t axis);
  // The node was added to the graph since: with a weight it may fix the sizes of what it reads.
  void added(const graph::Node& node);

 private:
  using Axis = std::pair<graph::ValueId, size_t>;
  struct AxisHash {
    size_t operator()(const Axis& axis) const {
      return std::hash<uint64_t>()((static_cast<uint64_t>(axis.first) << 16U) ^ axis.second);
    }
  };
  struct Answer {
    AxisSize size;
    std::vector<Axis> askedFor;  // They were answered with it.
  };
  using Answers = std::unordered_map<Axis, Answer, AxisHash>;
  [[nodiscard]] bool lasts(graph::ValueId value) const;
  void begin();
  AxisSize ask(graph::ValueId value, size_t axis);
  void forget(const Axis& axis);
  [[nodiscard]] bool isAssumed(graph::ValueId input, size_t fromLast) const;
  // A tensor of the file that no caller can give in other sizes.
  [[nodiscard]] bool isFixedInput(graph::ValueId value, size_t axis) const;
  bool ranksAreDeclared();

  const graph::Graph& graph_;
  Answers lasting_, answers_;                        // answers_: of one question
  std::unordered_map<graph::ValueId, bool> ranked_;  // hasRankOfProbe
  std::unordered_map<Axis, Joined, AxisHash> joined_;
  std::optional<bool> ranksDeclared_;
  std::optional<Axis> asker_;  // the question that is being answered
  int depth_ = 0, cutShort_ = 0;
};

}  // namespace normlens::ops
