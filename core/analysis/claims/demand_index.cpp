#include "core/analysis/claims/demand_index.h"

#include <boost/container_hash/hash.hpp>

namespace normlens::analysis {

size_t DemandIndex::Hash::operator()(const ops::Pattern& pattern) const {
  size_t hash = 0;
  for (const ops::Factor& factor : pattern.factors) {
    boost::hash_combine(hash, factor.size);
    boost::hash_combine(hash, factor.begin);
    boost::hash_combine(hash, factor.end);
    boost::hash_combine(hash, factor.summed);
  }
  return hash;
}

int DemandIndex::patternNumber(const ops::Pattern& pattern) {
  if (const auto found = knownPatterns_.find(pattern); found != knownPatterns_.end()) return *found;
  const auto next = static_cast<int>(patterns_.size());
  patterns_.push_back(pattern);
  knownPatterns_.insert(next);
  return next;
}

int DemandIndex::number(graph::ValueId value, const ops::Pattern& pattern) {
  int& first = firstOf_[static_cast<size_t>(value)];
  for (int known = first; known != graph::kNone; known = pairs_[static_cast<size_t>(known)].next) {
    if (this->pattern(known) == pattern) return known;
  }
  const auto next = static_cast<int>(pairs_.size());
  pairs_.push_back({value, patternNumber(pattern), first});
  first = next;
  return next;
}

}  // namespace normlens::analysis
