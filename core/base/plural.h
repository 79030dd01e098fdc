// "1 norm", "2 norms", for lines that people read.
#pragma once

#include <concepts>
#include <string>

namespace normlens {

[[nodiscard]] std::string plural(std::integral auto count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace normlens
