#include "core/base/bytes/base64.h"

#include <array>
#include <cstdint>

namespace normlens {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr unsigned kBits = 6, kGroup = 3, kByte = 8;

// -1: no digit.
constexpr auto kValues = [] {
  std::array<int, 256> values{};
  values.fill(-1);
  for (size_t i = 0; i < kDigits.size(); ++i) values.at(static_cast<unsigned char>(kDigits[i])) = static_cast<int>(i);
  return values;
}();

}  // namespace

std::string base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + kGroup - 1) / kGroup * (kGroup + 1));
  for (size_t begin = 0; begin < bytes.size(); begin += kGroup) {
    const std::string_view group = bytes.substr(begin, kGroup);
    uint32_t bits = 0;
    for (unsigned i = 0; i < kGroup; ++i) {
      bits = bits << kByte | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0U);
    }
    for (unsigned i = 0; i <= kGroup; ++i) {
      text += i <= group.size() ? kDigits[bits >> (kBits * (kGroup - i)) & 63U] : '=';
    }
  }
  return text;
}

std::optional<std::string> bytesOfBase64(std::string_view text) {
  const std::string_view digits = text.substr(0, text.find_last_not_of('=') + 1);
  if (text.size() % (kGroup + 1) != 0 || text.size() - digits.size() >= kGroup) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / (kGroup + 1) * kGroup);
  uint32_t bits = 0;
  unsigned waiting = 0;  // of the bits
  for (const char digit : digits) {
    const int value = kValues[static_cast<unsigned char>(digit)];
    if (value < 0) return std::nullopt;
    bits = bits << kBits | static_cast<uint32_t>(value);
    waiting += kBits;
    if (waiting < kByte) continue;
    waiting -= kByte;
    bytes += static_cast<char>(bits >> waiting & 255U);
  }
  return (bits & ((1U << waiting) - 1)) == 0 ? std::optional(bytes) : std::nullopt;
}

}  // namespace normlens
