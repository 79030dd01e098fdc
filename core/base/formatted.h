// Numbers as text, by the forms of printf: formatted("%.3g MB", 1.5). What does not fit is cut off. Exponents have no
// zeros. Thread: pure.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>

namespace normlens {

// "from 3e-07 to 1e+03" -> "from 3e-7 to 1e3"
[[nodiscard]] inline std::string withShortExponents(std::string text) {
  const auto isDigit = [&](size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  for (size_t e = text.find('e', 1); e != std::string::npos; e = text.find('e', e + 1)) {
    const size_t sign = e + 1;
    if (!isDigit(e - 1) || !isDigit(sign + 1) || (text[sign] != '+' && text[sign] != '-')) continue;
    while (text[sign + 1] == '0' && isDigit(sign + 2)) text.erase(sign + 1, 1);
    if (text[sign] == '+') text.erase(sign, 1);
  }
  return text;
}

// With a name among the values exponents stay as they are, so that no name changes.
template <class... Values>
[[nodiscard]] std::string formatted(const char* form, Values... values) {
  static_assert(((std::is_arithmetic_v<Values> || std::is_convertible_v<Values, const char*>)&&...));
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(), form, values...);
  constexpr bool hasName = (std::is_convertible_v<Values, const char*> || ...);
  return hasName ? text.data() : withShortExponents(text.data());
}

[[nodiscard]] inline std::string megabytes(int64_t bytes) {
  return formatted("%.3g MB", static_cast<double>(bytes) / 1e6);
}

// "512 B", "131 kB", "1.5 MB"
[[nodiscard]] inline std::string bytesText(int64_t bytes) {
  constexpr int64_t kKilo = 1000;
  constexpr double kWhole = 9.95;  // from here on without a decimal
  if (bytes < kKilo) return std::to_string(bytes) + " B";
  const bool mega = bytes >= kKilo * kKilo;
  const double size = static_cast<double>(bytes) / static_cast<double>(mega ? kKilo * kKilo : kKilo);
  return formatted(size < kWhole ? "%.1f" : "%.0f", size) + (mega ? " MB" : " kB");
}

}  // namespace normlens
