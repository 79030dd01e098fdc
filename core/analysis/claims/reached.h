// Spreads a property from one to all that rest on it: a claim that is refused, a step that is opaque.
#pragma once

#include <vector>

#include "core/analysis/claims/grouped.h"

namespace normlens::analysis {

// The `open` ones, and whoever rests on one of these. readers: who rests on each of `count`. Without recursion.
[[nodiscard]] inline std::vector<bool> reachedFrom(std::vector<int> open, const Grouped<int>& readers, size_t count) {
  std::vector<bool> reached(count, false);
  for (const int first : open) reached[static_cast<size_t>(first)] = true;
  while (!open.empty()) {
    const auto at = static_cast<size_t>(open.back());
    open.pop_back();
    for (const int reader : readers[at]) {
      if (reached[static_cast<size_t>(reader)]) continue;
      reached[static_cast<size_t>(reader)] = true;
      open.push_back(reader);
    }
  }
  return reached;
}

}  // namespace normlens::analysis
