// Returns whether a list of ids, reads or axes holds one of them: std::ranges::contains of C++23.
#pragma once

#include <algorithm>
#include <ranges>

namespace normlens {

template <std::ranges::input_range Items, class Item>
[[nodiscard]] constexpr bool contains(const Items& items, const Item& item) {
  return std::ranges::find(items, item) != std::ranges::end(items);
}

}  // namespace normlens
