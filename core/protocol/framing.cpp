#include "core/protocol/framing.h"

#include <algorithm>
#include <charconv>

namespace normlens::protocol {
namespace {

constexpr std::string_view kLengthHeader = "Content-Length: ", kBlank = "\r\n\r\n";
constexpr size_t kMostHeaderBytes = 48;   // encodeFrame() writes fewer, and a little room is left.
constexpr size_t kMostNoiseBytes = 8192;  // that may become a header yet

std::string excerpt(std::string_view text) {
  std::string line(text.substr(0, 60));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 32; }, ' ');
  return line;
}

std::optional<uint64_t> sizeIn(std::string_view text) {
  uint64_t size = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, size);
  return status == std::errc() && stop == end ? std::optional(size) : std::nullopt;
}

}  // namespace

std::string encodeFrame(std::string_view body) {
  std::string frame(kLengthHeader);
  return frame.append(std::to_string(body.size())).append(kBlank).append(body);
}

void FrameDecoder::feed(std::string_view chunk) {
  if (begin_ > buffer_.size() / 2) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  buffer_ += chunk;
  skipOversized();
}

void FrameDecoder::consume(size_t bytes) {
  begin_ += bytes;
  if (begin_ == buffer_.size()) {
    buffer_.clear();
    begin_ = 0;
  }
}

void FrameDecoder::skipOversized() {
  const auto skipped = static_cast<size_t>(std::min<uint64_t>(skipBytes_, pending().size()));
  skipBytes_ -= skipped;
  consume(skipped);
}

std::optional<Result<std::string>> FrameDecoder::next() {
  if (skipBytes_ > 0) return std::nullopt;
  if (!bodyBytes_) {
    RETURN_IF_ERROR(takeHeader());
  }
  if (!bodyBytes_ || pending().size() < *bodyBytes_) return std::nullopt;
  std::string body(pending().substr(0, static_cast<size_t>(*bodyBytes_)));
  bodyBytes_.reset();
  consume(body.size());
  return body;
}

// Sets bodyBytes_ once a header has come. What is none is dropped up to the next that may be one.
Status FrameDecoder::takeHeader() {
  const std::string_view text = pending();
  const size_t end = text.find(kBlank);
  if (end == std::string_view::npos && text.size() <= kMostNoiseBytes) return {};
  const std::string_view block = text.substr(0, end);
  const size_t at = block.rfind(kLengthHeader);
  const bool whole = at == 0 && end != std::string_view::npos;
  const auto bytes = whole ? sizeIn(block.substr(kLengthHeader.size())) : std::nullopt;
  if (!bytes) {
    const size_t past = end == std::string_view::npos ? text.size() - kMostHeaderBytes : end + kBlank.size();
    const size_t noise = at == 0 || at == std::string_view::npos ? past : at;
    std::string message = "something that is no message came: '" + excerpt(text.substr(0, noise)) + "'";
    consume(noise);
    return fail(ErrorCode::BadInput, std::move(message));
  }
  consume(end + kBlank.size());
  if (*bytes <= maxFrameBytes_) {
    bodyBytes_ = bytes;
    return {};
  }
  skipBytes_ = *bytes;
  skipOversized();
  return fail(ErrorCode::Unsupported, "a message of " + std::to_string(*bytes) + " bytes is too large and was skipped");
}

}  // namespace normlens::protocol
