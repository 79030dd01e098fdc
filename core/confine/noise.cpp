#include "core/confine/noise.h"

#include "core/base/printable.h"

namespace normlens::confine {

void Noise::feed(std::string_view bytes) {
  for (const char c : bytes) {
    if (full_) return;
    if (c == '\n') {
      tell();
    } else if (line_.size() < kLongestLine) {
      line_ += c;
    }
  }
}

void Noise::tell() {
  if (!line_.empty()) tell_(printable(line_));
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
