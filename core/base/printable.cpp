#include "core/base/printable.h"

#include <algorithm>

namespace normlens {
namespace {

// Bytes of the control character that `text` begins with, in UTF-8; 0: it begins with none.
size_t controlAt(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
  const auto within = [&](size_t i, int low, int high) { return byte(i) >= low && byte(i) <= high; };
  constexpr int kDelete = 0x7f;
  if (byte(0) < ' ' || byte(0) == kDelete) return 1;
  if (byte(0) == 0xC2 && within(1, 0x80, 0x9F)) return 2;  // U+0080 to U+009F
  if (byte(0) == 0xD8 && byte(1) == 0x9C) return 2;        // U+061C, a mark of direction
  const bool ofGeneral = byte(0) == 0xE2 && byte(1) == 0x80;
  if (ofGeneral && within(2, 0x8E, 0x8F)) return 3;  // U+200E and U+200F, marks of direction
  if (ofGeneral && within(2, 0xA8, 0xAE)) return 3;  // U+2028 to U+202E, ends of lines and embeddings
  const bool isolates = byte(0) == 0xE2 && byte(1) == 0x81 && within(2, 0xA6, 0xA9);  // U+2066 to U+2069
  return isolates ? 3 : 0;
}

}  // namespace

std::string printable(std::string text, std::string_view kept) {
  for (size_t at = 0; at < text.size();) {
    const size_t control = controlAt(std::string_view(text).substr(at));
    if (control > 0 && kept.find(text[at]) == std::string_view::npos) text.replace(at, control, control, '?');
    at += std::max<size_t>(control, 1);
  }
  return text;
}

size_t characterStart(std::string_view text, size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) --at;
  return at;
}

}  // namespace normlens
