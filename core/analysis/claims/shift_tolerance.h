// Finds which reads of a value would not notice if it were shifted (paper 001, definition D.1: the layers that are not
// affected). Memoised over (value, pattern); the greatest fixpoint, so that loops are covered.
// Thread: one.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/analysis/claims/demand_index.h"
#include "core/analysis/norms/norms.h"
#include "core/base/small_vector.h"
#include "core/graph/graph.h"
#include "core/ops/rules.h"

namespace normlens::analysis {

class ShiftTolerance {
 public:
  // Both outlive this object.
  ShiftTolerance(const graph::Graph& graph, const std::vector<LayerNorm>& norms);

  using Reason = std::shared_ptr<const std::string>;  // after "because"
  struct Reading {
    graph::Use use;
    graph::NodeId node = graph::kNone;  // who notices; kNone: a model output
    Reason notices;                     // why; null where it tolerates the shift

    [[nodiscard]] bool tolerant() const { return notices == nullptr; }
  };
  using Readings = SmallVector<Reading, 2>;
  // By read of the value. Valid until the next call.
  [[nodiscard]] const Readings& readings(graph::ValueId value, const ops::Pattern& shift);

 private:
  struct Carried {
    int reading;
    int entry;  // must be tolerant as well
  };
  struct Notice {
    Reason reason;
    graph::NodeId node = graph::kNone;
  };
  struct Entry {
    Readings readings;
    SmallVector<Carried, 2> carried;
    Notice notices;  // of the nearest reading that does, or of one behind it
  };

  Entry& at(int id) { return entries_[static_cast<size_t>(id)]; }
  void expand(int id);
  ops::Shift shiftOf(int shifted, const graph::Use& use) const;
  ops::Shift shiftOfReturned(int shifted, const graph::Node& owner, const graph::Use& use) const;
  bool absorbedByNorm(int shifted, const graph::Use& use) const;
  void settle(int first);
  bool refuse(int id, const Notice& notice);
  [[nodiscard]] Notice noticeBehind(int id, const Carried& carried) const;
  void settleReadings(int id);

  const graph::Graph& graph_;
  std::unordered_map<graph::NodeId, const LayerNorm*> asOne_;  // by member: norms that are looked at as one
  DemandIndex index_;
  std::vector<Entry> entries_;  // by number in the index
};

}  // namespace normlens::analysis
