#include "app/engine/verbs/report/base64.h"

#include <cstdint>

namespace normlens::engine::report {

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr unsigned kBits = 6, kGroup = 3;
  std::string text;
  for (size_t begin = 0; begin < bytes.size(); begin += kGroup) {
    const std::string_view group = bytes.substr(begin, kGroup);
    uint32_t bits = 0;
    for (unsigned i = 0; i < kGroup; ++i) {
      bits = bits << 8U | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0U);
    }
    for (unsigned i = 0; i <= kGroup; ++i) {
      text += i <= group.size() ? kDigits[bits >> (kBits * (kGroup - i)) & 63U] : '=';
    }
  }
  return text;
}

}  // namespace normlens::engine::report
