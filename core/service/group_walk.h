// The group of a pattern in which each element lies, element by element in row-major order.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ops/pattern.h"

namespace normlens::service {

// Groups are numbered by their kept factors, outermost first. Thread: one per object.
class GroupWalk {
 public:
  explicit GroupWalk(const ops::Pattern& pattern) {
    int64_t stride = 1;
    for (size_t f = pattern.factors.size(); f-- > 0;) {
      const auto& factor = pattern.factors[f];
      places_.push_back({factor, factor.summed ? 0 : stride, 0});
      if (!factor.summed) stride *= factor.extent();
    }
    groups_ = stride;
  }

  [[nodiscard]] int64_t groups() const { return groups_; }

  // Of the next element; -1: outside the pattern's region.
  int64_t next() {
    int64_t group = 0;
    for (const Place& place : places_) {
      if (place.at < place.factor.begin || place.at >= place.factor.end) group = -1;
      if (group < 0) break;
      group += (place.at - place.factor.begin) * place.stride;
    }
    for (Place& place : places_) {
      if (++place.at < place.factor.size) break;
      place.at = 0;
    }
    return group;
  }

 private:
  struct Place {
    ops::Factor factor;
    int64_t stride;  // in groups; 0 where the factor is summed
    int64_t at;
  };
  std::vector<Place> places_;  // innermost first
  int64_t groups_ = 1;
};

}  // namespace normlens::service
