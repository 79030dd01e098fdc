// Measures how deep the objects of a pickle lie in one another, memo references included: a container may be filled
// before or after it is put into another. No torch here.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace normlens::formats {

class PickleNesting {
 public:
  [[nodiscard]] int32_t addContainer() { return containers_++; }
  void addInside(int32_t container, int32_t inner) { inside_.emplace_back(container, inner); }

  // Containers on the longest way from the outermost to the innermost one; -1 where one contains itself.
  [[nodiscard]] int64_t depth() const;

 private:
  int32_t containers_ = 0;
  std::vector<std::pair<int32_t, int32_t>> inside_;  // container, what it holds
};

}  // namespace normlens::formats
