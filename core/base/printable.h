// Text out of a stranger's file, fit for a line of a terminal. Thread: pure function.
#pragma once

#include <algorithm>
#include <string>

namespace normlens {

[[nodiscard]] inline std::string printable(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

}  // namespace normlens
