// Items by group, all in one block of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace normlens::analysis {

template <class T>
class Grouped {
 public:
  // Takes (group, item); the items of a group keep their order.
  Grouped(size_t groups, const std::vector<std::pair<int, T>>& members) : ends_(groups + 1, 0), items_(members.size()) {
    for (const auto& [group, item] : members) ++ends_[static_cast<size_t>(group) + 1];
    for (size_t g = 1; g <= groups; ++g) ends_[g] += ends_[g - 1];
    std::vector<uint32_t> next(ends_.begin(), ends_.end() - 1);
    for (const auto& [group, item] : members) items_[next[static_cast<size_t>(group)]++] = item;
  }

  [[nodiscard]] std::span<const T> operator[](size_t group) const {
    return std::span(items_).subspan(ends_[group], ends_[group + 1] - ends_[group]);
  }

 private:
  std::vector<uint32_t> ends_;  // by group, of the one before it
  std::vector<T> items_;
};

}  // namespace normlens::analysis
