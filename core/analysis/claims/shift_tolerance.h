// Finds which reads of a value would not notice if it were shifted (paper 001, definition D.1: the layers that are not
// affected). Memoised over (value, pattern); the greatest fixpoint, so that loops are covered.
// Thread: one.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/analysis/norms/norms.h"
#include "core/base/small_vector.h"
#include "core/graph/graph.h"
#include "core/ops/rules.h"
#include "core/ops/size_question.h"

namespace normlens::analysis {

// Numbers for the pairs of value and pattern that an analysis examines, in the order in which they first come up.
class DemandIndex {
 public:
  DemandIndex() = default;
  DemandIndex(const DemandIndex&) = delete;
  DemandIndex& operator=(const DemandIndex&) = delete;
  ~DemandIndex() = default;

  // The pair's number: size() as it was before, if the pair is new.
  int number(const ops::Demand& demand) {
    const auto [known, isNew] = numbers_.try_emplace(demand, static_cast<int>(pairs_.size()));
    if (isNew) pairs_.push_back(&known->first);
    return known->second;
  }
  [[nodiscard]] size_t size() const { return pairs_.size(); }
  [[nodiscard]] graph::ValueId value(int number) const { return pairs_[static_cast<size_t>(number)]->value; }
  // Stays where it is.
  [[nodiscard]] const ops::Pattern& pattern(int number) const { return pairs_[static_cast<size_t>(number)]->pattern; }

 private:
  // A value that hundreds of concatenations read has hundreds of patterns, and so has each concatenation.
  struct Hash {
    size_t operator()(const ops::Demand& demand) const {
      constexpr size_t kOdd = 0x9e3779b97f4a7c15;
      auto hash = static_cast<size_t>(demand.value);
      for (const ops::Factor& factor : demand.pattern.factors) {
        for (const int64_t number : {factor.size, factor.begin, factor.end, int64_t{factor.summed}})
          hash = (hash ^ (hash >> 32U) ^ static_cast<size_t>(number)) * kOdd;
      }
      return hash ^ (hash >> 32U);
    }
  };
  std::unordered_map<ops::Demand, int, Hash> numbers_;
  std::vector<const ops::Demand*> pairs_;  // by number
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
  // Returns what has been found of other runs' sizes.
  [[nodiscard]] ops::SizeQuestion& sizes() { return sizes_; }
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
  ops::Shift shiftOf(int shifted, const graph::Use& use);
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
  ops::SizeQuestion sizes_;
  DemandIndex index_;
  std::vector<Entry> entries_;  // by number in the index
};

}  // namespace normlens::analysis
