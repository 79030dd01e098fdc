// Numbers as text, by the forms of printf: formatted("%.3g MB", 1.5). What does not fit is cut off. Thread: pure.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>

namespace normlens {

template <class... Values>
[[nodiscard]] std::string formatted(const char* form, Values... values) {
  static_assert(((std::is_arithmetic_v<Values> || std::is_convertible_v<Values, const char*>)&&...));
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(), form, values...);
  return text.data();
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
