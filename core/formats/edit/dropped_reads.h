// The reads that a plan's fold::DropAddend edits make 0: what every format's back end needs of them. Thread: one.
#pragma once

#include <optional>
#include <set>
#include <tuple>

#include "core/fold/plan.h"
#include "core/graph/graph.h"

namespace normlens::formats {

class DroppedReads {
 public:
  explicit DroppedReads(const fold::FoldPlan& plan);

  // Each once.
  std::optional<graph::Use> next();

  // The operand of the Add or Sub that its result is, once this read of it is 0; in a run with any sizes. nullopt: the
  // result is another one, may have another shape or type, or that operand is still to be dropped.
  [[nodiscard]] std::optional<size_t> resultWithout(const graph::Graph& graph, const graph::Use& read) const;

 private:
  using Key = std::tuple<graph::NodeId, int, graph::BlockId>;
  [[nodiscard]] static Key keyOf(const graph::Use& read);

  std::set<Key> open_;
};

}  // namespace normlens::formats
