// Numbers for the pairs of value and pattern that an analysis examines, in the order in which they first come up.
// Thread: one.
#pragma once

#include <deque>
#include <vector>

#include "core/ops/rules.h"

namespace normlens::analysis {

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

}  // namespace normlens::analysis
