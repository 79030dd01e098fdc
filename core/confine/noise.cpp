#include "core/confine/noise.h"

namespace normlens::confine {
namespace {

// Bytes from 0x80 on are parts of UTF-8; of those 0xC2 0x80 to 0xC2 0x9F are control characters, too.
bool isControl(unsigned char c, char before) {
  constexpr unsigned char kDelete = 0x7f;
  return c < ' ' || c == kDelete || (before == '\xC2' && c >= 0x80 && c < 0xA0);
}

}  // namespace

void Noise::feed(std::string_view bytes) {
  for (const char c : bytes) {
    if (full_) return;
    if (c == '\n') {
      tell();
    } else if (line_.size() < kLongestLine) {
      const bool control = isControl(static_cast<unsigned char>(c), line_.empty() ? ' ' : line_.back());
      line_ += control ? '?' : c;
    }
  }
}

void Noise::tell() {
  if (!line_.empty()) tell_(line_);
  told_ += line_.size() + 1;
  line_.clear();
  if (told_ < kMostBytes) return;
  full_ = true;
  tell_("what is printed beyond this is dropped");
}

void Noise::end() {
  if (!full_ && !line_.empty()) tell();
}

}  // namespace normlens::confine
