#include "core/formats/file/write_progress.h"

#include <cmath>

#include "core/base/formatted.h"

namespace normlens::formats {
namespace {

constexpr double kToldEveryMs = 200;

}  // namespace

Status WriteProgress::wrote(uint64_t bytes) {
  done_ += bytes;
  const double ms = watch_.ms();
  if (ms - toldAt_ >= kToldEveryMs) {
    toldAt_ = ms;
    task_.report(words(ms), static_cast<double>(done_) / static_cast<double>(total_));
  }
  return task_.check();
}

std::string WriteProgress::words(double ms) const {
  const double done = static_cast<double>(done_) / 1e6, total = static_cast<double>(total_) / 1e6;
  const double rate = static_cast<double>(done_) / ms * 1e3;  // MB/s
  return what_ + ": " + formatted("%.0f", done) + " of " + formatted("%.0f MB, ", total) +
         formatted("%.0f MB/s, ", rate) + formatted("%.0f s left", std::ceil((total - done) / rate));
}

}  // namespace normlens::formats
