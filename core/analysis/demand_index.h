// Numbers for the pairs of value and pattern that an analysis asks about, in the order in which they first come up.
// Thread: one.
#pragma once

#include <deque>
#include <unordered_set>

#include "core/ops/rules.h"

namespace normlens::analysis {

class DemandIndex {
 public:
  DemandIndex() : known_(0, Hash{this}, Equal{this}) {}
  DemandIndex(const DemandIndex&) = delete;
  DemandIndex& operator=(const DemandIndex&) = delete;
  ~DemandIndex() = default;

  // The pair's number: size() as it was before, if the pair is new.
  int number(const ops::Demand& demand);
  [[nodiscard]] size_t size() const { return demands_.size(); }
  // Stays where it is.
  [[nodiscard]] const ops::Demand& operator[](int number) const { return demands_[static_cast<size_t>(number)]; }

 private:
  struct Hash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the library asks for it
    const DemandIndex* index;
    size_t operator()(int number) const { return (*this)((*index)[number]); }
    size_t operator()(const ops::Demand& demand) const;
  };
  struct Equal {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the library asks for it
    const DemandIndex* index;
    bool operator()(int a, int b) const { return a == b; }  // numbers of different pairs
    bool operator()(const ops::Demand& a, int b) const { return equal(a, (*index)[b]); }
    bool operator()(int a, const ops::Demand& b) const { return equal((*index)[a], b); }
    static bool equal(const ops::Demand& a, const ops::Demand& b) {
      return a.value == b.value && a.pattern == b.pattern;
    }
  };

  std::deque<ops::Demand> demands_;
  std::unordered_set<int, Hash, Equal> known_;
};

}  // namespace normlens::analysis
