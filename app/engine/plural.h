// "1 norm", "2 norms", for lines that people read.
#pragma once

#include <cstdint>
#include <string>

namespace normlens::engine {

[[nodiscard]] inline std::string plural(int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace normlens::engine
