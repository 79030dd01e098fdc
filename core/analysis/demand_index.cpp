#include "core/analysis/demand_index.h"

#include <boost/container_hash/hash.hpp>

namespace normlens::analysis {

size_t DemandIndex::Hash::operator()(const ops::Demand& demand) const {
  size_t hash = 0;
  boost::hash_combine(hash, demand.value);
  for (const ops::Factor& factor : demand.pattern.factors) {
    boost::hash_combine(hash, factor.size);
    boost::hash_combine(hash, factor.begin);
    boost::hash_combine(hash, factor.end);
    boost::hash_combine(hash, factor.summed);
  }
  return hash;
}

int DemandIndex::number(const ops::Demand& demand) {
  if (const auto found = known_.find(demand); found != known_.end()) return *found;
  const auto next = static_cast<int>(demands_.size());
  demands_.push_back(demand);
  known_.insert(next);
  return next;
}

}  // namespace normlens::analysis
