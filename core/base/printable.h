// Text out of a stranger's file, fit for a terminal. Thread: pure function.
#pragma once

#include <string>
#include <string_view>

namespace normlens {

// Without control characters, which could move the cursor or do more: each byte of one becomes '?'. Those from U+0080
// to U+009F are 0xC2 and another byte in UTF-8. `kept`: stays as it is.
[[nodiscard]] inline std::string printable(std::string text, std::string_view kept = {}) {
  constexpr unsigned char kDelete = 0x7f;
  char before = '\0';
  for (char& at : text) {
    const auto c = static_cast<unsigned char>(at);
    const bool second = before == '\xC2' && c >= 0x80 && c < 0xA0;
    if (second) *(&at - 1) = '?';
    before = at;
    if (second || ((c < ' ' || c == kDelete) && kept.find(at) == std::string_view::npos)) at = '?';
  }
  return text;
}

}  // namespace normlens
