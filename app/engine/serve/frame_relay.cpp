#include "app/engine/serve/frame_relay.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/protocol/framing.h"

namespace normlens::engine {
namespace {

constexpr std::string_view kBlank = "\r\n\r\n";
constexpr std::string_view kLength = "Content-Length: ";  // as encodeFrame writes it
constexpr std::string_view kResult = "Answers-With-Result: ", kFailure = "Answers-With-Failure: ";
constexpr size_t kMostFilled = size_t{64} << 20;  // more than any reply has, less than a length can claim

std::optional<int64_t> numberAfter(std::string_view header, std::string_view name) {
  const size_t at = header.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  int64_t number = 0;
  const char* const first = header.data() + at + name.size();
  const bool isNumber = std::from_chars(first, header.data() + header.size(), number).ec == std::errc();
  return isNumber ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string FrameRelay::marked(std::string_view frame, const protocol::Answered* answers) {
  std::string header;
  if (answers != nullptr) {
    header.append(answers->withResult ? kResult : kFailure).append(std::to_string(answers->id)).append("\r\n");
  }
  return header.append(frame);
}

void FrameRelay::feed(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    if (bodyLeft_ > 0) {
      const size_t count = std::min(bodyLeft_, bytes.size());
      out.append(bytes.substr(0, count));
      bytes.remove_prefix(count);
      bodyLeft_ -= count;
      if (bodyLeft_ == 0 && answers_) answered_.push_back(*std::exchange(answers_, {}));
      continue;
    }
    header_ += bytes.front();
    bytes.remove_prefix(1);
    if (header_.ends_with(kBlank)) takeHeader(out);
    if (header_.size() > protocol::kMaxHeaderBytes) header_.clear();
  }
}

void FrameRelay::takeHeader(std::string& out) {
  const int64_t length = numberAfter(header_, kLength).value_or(0);
  if (length > 0 && length <= static_cast<int64_t>(protocol::kMaxFrameBytes)) {
    // Not its own words: who reads them must find the same length.
    out.append(kLength).append(std::to_string(length)).append(kBlank);
    bodyLeft_ = static_cast<size_t>(length);
    answers_.reset();
    for (const auto& [name, withResult] : {std::pair(kResult, true), std::pair(kFailure, false)}) {
      if (const auto id = numberAfter(header_, name)) answers_ = {*id, withResult};
    }
  }
  header_.clear();
}

bool FrameRelay::end(std::string& out) {
  header_.clear();
  answers_.reset();
  if (bodyLeft_ > kMostFilled) return false;
  out.append(std::exchange(bodyLeft_, 0), ' ');
  return true;
}

}  // namespace normlens::engine
