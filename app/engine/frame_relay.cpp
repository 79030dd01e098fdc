#include "app/engine/frame_relay.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/protocol/framing.h"

namespace normlens::engine {
namespace {

constexpr std::string_view kBlank = "\r\n\r\n";
constexpr std::string_view kLength = "Content-Length: ";  // as encodeFrame writes it
constexpr size_t kMostFilled = size_t{64} << 20;          // more than any reply has, less than a length can claim

}  // namespace

void FrameRelay::feed(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    if (bodyLeft_ > 0) {
      const size_t count = std::min(bodyLeft_, bytes.size());
      out.append(bytes.substr(0, count));
      bytes.remove_prefix(count);
      bodyLeft_ -= count;
      continue;
    }
    header_ += bytes.front();
    bytes.remove_prefix(1);
    if (header_.ends_with(kBlank)) takeHeader(out);
    if (header_.size() > protocol::kMaxHeaderBytes) header_.clear();
  }
}

void FrameRelay::takeHeader(std::string& out) {
  const size_t at = header_.find(kLength);
  size_t length = 0;
  if (at != std::string::npos) {
    const char* const first = header_.data() + at + kLength.size();
    std::from_chars(first, header_.data() + header_.size(), length);
  }
  if (length > 0 && length <= protocol::kMaxFrameBytes) {
    // Not its own words: who reads them must find the same length.
    out.append(kLength).append(std::to_string(length)).append(kBlank);
    bodyLeft_ = length;
  }
  header_.clear();
}

bool FrameRelay::end(std::string& out) {
  header_.clear();
  if (bodyLeft_ > kMostFilled) return false;
  out.append(std::exchange(bodyLeft_, 0), ' ');
  return true;
}

}  // namespace normlens::engine
