// Numbers for the pairs of value and pattern that an analysis asks about, in the order in which they first come up.
// Thread: one.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_set>
#include <vector>

#include "core/ops/rules.h"

namespace normlens::analysis {

class DemandIndex {
 public:
  // Of the values 0 to `values` - 1.
  explicit DemandIndex(size_t values) : firstOf_(values, graph::kNone), knownPatterns_(0, Hash{this}, Equal{this}) {}
  DemandIndex(const DemandIndex&) = delete;
  DemandIndex& operator=(const DemandIndex&) = delete;
  ~DemandIndex() = default;

  // The pair's number: size() as it was before, if the pair is new.
  int number(graph::ValueId value, const ops::Pattern& pattern);
  int number(const ops::Demand& demand) { return number(demand.value, demand.pattern); }
  [[nodiscard]] size_t size() const { return pairs_.size(); }
  [[nodiscard]] graph::ValueId value(int number) const { return pairs_[static_cast<size_t>(number)].value; }
  // Stays where it is.
  [[nodiscard]] const ops::Pattern& pattern(int number) const {
    return patterns_[static_cast<size_t>(pairs_[static_cast<size_t>(number)].pattern)];
  }

 private:
  // A graph has few patterns and many values: a pair is small, and found from its value.
  struct Pair {
    graph::ValueId value;
    int pattern;
    int next;  // the pair with the same value that came up before it; kNone: none
  };
  struct Hash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the library asks for it
    const DemandIndex* index;
    size_t operator()(int pattern) const { return (*this)(index->patterns_[static_cast<size_t>(pattern)]); }
    size_t operator()(const ops::Pattern& pattern) const;
  };
  struct Equal {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the library asks for it
    const DemandIndex* index;
    bool operator()(int a, int b) const { return a == b; }  // numbers of different patterns
    bool operator()(const ops::Pattern& a, int b) const { return a == index->patterns_[static_cast<size_t>(b)]; }
    bool operator()(int a, const ops::Pattern& b) const { return index->patterns_[static_cast<size_t>(a)] == b; }
  };

  int patternNumber(const ops::Pattern& pattern);

  std::vector<Pair> pairs_;
  std::vector<int> firstOf_;  // by value
  std::deque<ops::Pattern> patterns_;
  std::unordered_set<int, Hash, Equal> knownPatterns_;
};

}  // namespace normlens::analysis
