// Addends and fills that go away with a norm's mean: values that are constant along its axes.
#pragma once

#include <set>
#include <vector>

#include "core/analysis/claims/finite_weights.h"
#include "core/graph/graph.h"
#include "core/ops/pattern.h"

namespace normlens::analysis {

// Decides for one graph, which outlives it. Thread: one at a time.
class DroppedAddends {
 public:
  DroppedAddends(const graph::Graph& graph, FiniteWeights& weights) : graph_(graph), weights_(weights) {}

  // To have 0 in the place of `id` is a shift of it with this pattern, for all reads that tolerate one; these are
  // `uses`. A tensor of the file is none of them: it is centered itself. Nor is what the file makes infinite or NaN,
  // which 0 would hide; what overflows in a run alone is not looked for.
  [[nodiscard]] bool mayDrop(graph::ValueId id, const ops::Pattern& pattern, const graph::Uses& uses);

 private:
  // Below a softmax -infinity masks positions and is gone behind it.
  struct Source {
    graph::ValueId value = graph::kNoValue;
    bool masks = false;
    auto operator<=>(const Source&) const = default;
  };
  [[nodiscard]] bool isMadeOfFinite(graph::ValueId value);
  [[nodiscard]] bool isFinite(const Source& source);
  [[nodiscard]] bool isFinite(const graph::TensorView& held, bool masks);
  [[nodiscard]] std::vector<Source> sourcesOf(const Source& source) const;

  const graph::Graph& graph_;
  FiniteWeights& weights_;
  std::set<Source> finite_;
};

}  // namespace normlens::analysis
