// Finds which reads of a value would not notice if it were shifted (paper 001, definition D.1: the layers that are not
// affected). Memoised over (value, pattern); the greatest fixpoint, so that loops are covered.
// Thread: one.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/analysis/norms/norms.h"
#include "core/base/small_vector.h"
#include "core/graph/graph.h"
#include "core/ops/rules.h"

namespace normlens::analysis {

// Numbers for the pairs of value and pattern that an analysis examines, in the order in which they first come up.
class DemandIndex {
 public:
  // Indexes demands on the values 0 to `values` - 1.
  explicit DemandIndex(size_t values) : lastOf_(values, graph::kNone) {}

  // The pair's number: size() as it was before, if the pair is new.
  int number(const ops::Demand& demand) {
    int& last = lastOf_[static_cast<size_t>(demand.value)];
    for (int known = last; known != graph::kNone; known = pairs_[static_cast<size_t>(known)].before) {
      if (pattern(known) == demand.pattern) return known;
    }
    pairs_.push_back({demand, last});
    return last = static_cast<int>(pairs_.size()) - 1;
  }
  [[nodiscard]] size_t size() const { return pairs_.size(); }
  [[nodiscard]] graph::ValueId value(int number) const { return pairs_[static_cast<size_t>(number)].demand.value; }
  // Stays where it is.
  [[nodiscard]] const ops::Pattern& pattern(int number) const {
    return pairs_[static_cast<size_t>(number)].demand.pattern;
  }

 private:
  struct Pair {
    ops::Demand demand;
    int before;  // the last pair with the same value that came up earlier; kNone: none
  };
  std::deque<Pair> pairs_;
  std::vector<int> lastOf_;  // by value
};

// Reads that are given back the mean over the last axis of what they read, fold::RestoreMean: no shift that is the same
// along each row is noticed there.
using RestoredReads = std::set<graph::Use>;

// A shift of whole rows, along the last axis of a value with these sizes.
[[nodiscard]] ops::Pattern alongRows(const graph::Shape& shape);

class ShiftTolerance {
 public:
  // All outlive this object.
  ShiftTolerance(const graph::Graph& graph, const std::vector<LayerNorm>& norms, const RestoredReads& restored);

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
  // A shift of the value that these of its reads see.
  struct Start {
    graph::ValueId value = graph::kNoValue;
    ops::Pattern shift;
    graph::Uses seenBy;
  };
  // The values that such shifts reach.
  [[nodiscard]] std::set<graph::ValueId> reachedFrom(const std::vector<Start>& starts);

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
    Notice notices;  // The nearest reading that does, or one behind it.
  };

  Entry& at(int id) { return entries_[static_cast<size_t>(id)]; }
  void expand(int id);
  ops::Shift shiftOf(int shifted, const graph::Use& use) const;
  ops::Shift shiftOfReturned(int shifted, const graph::Node& owner, const graph::Use& use) const;
  bool absorbedByNorm(int shifted, const graph::Use& use) const;
  bool isRestored(int shifted, const graph::Use& use) const;
  void settle(int first);
  bool refuse(int id, const Notice& notice);
  [[nodiscard]] Notice noticeBehind(int id, const Carried& carried) const;
  void settleReadings(int id);

  const graph::Graph& graph_;
  const RestoredReads& restored_;
  std::unordered_map<graph::NodeId, const LayerNorm*> asOne_;  // by member: norms that are looked at as one
  DemandIndex index_;
  std::vector<Entry> entries_;  // by number in the index
};

}  // namespace normlens::analysis
