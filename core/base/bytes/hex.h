// Bytes as lower-case hex digits, two for each. Thread: pure function.
#pragma once

#include <span>
#include <string>

namespace normlens {

[[nodiscard]] inline std::string hexOf(std::span<const unsigned char> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace normlens
