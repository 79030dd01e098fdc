#include "core/protocol/framing.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace normlens::protocol {
namespace {

constexpr std::string_view kLengthHeader = "content-length";

bool sameLetters(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

// Offset of the next header that starts a frame, or npos.
size_t findLengthHeader(std::string_view text, size_t from) {
  for (size_t i = from; i + kLengthHeader.size() < text.size(); ++i) {
    if (text[i + kLengthHeader.size()] == ':' && sameLetters(text.substr(i, kLengthHeader.size()), kLengthHeader)) {
      return i;
    }
  }
  return std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

bool isHeaderLine(std::string_view line) {
  const size_t colon = line.find(':');
  return colon != std::string_view::npos && colon > 0 &&
         std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(colon),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-'; });
}

struct Block {
  size_t bytes = 0;   // up to and with the blank line
  bool clean = true;  // nothing but header lines
  std::optional<std::string_view> length;
};

// The header block at the start of `text`; nullopt while its blank line has not come.
std::optional<Block> readBlock(std::string_view text) {
  Block block;
  size_t at = 0;
  for (;;) {
    const size_t end = text.find('\n', at);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = trimmed(text.substr(at, end - at));
    at = end + 1;
    if (line.empty()) break;
    if (!isHeaderLine(line)) {
      block.clean = false;
    } else if (sameLetters(trimmed(line.substr(0, line.find(':'))), kLengthHeader)) {
      block.length = trimmed(line.substr(line.find(':') + 1));
    }
  }
  block.bytes = at;
  return block;
}

std::string excerpt(std::string_view text) {
  std::string line(text.substr(0, 60));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 32; }, ' ');
  return line;
}

}  // namespace

std::string encodeFrame(std::string_view body) {
  std::string frame = "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  frame += body;
  return frame;
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
    if (auto error = takeHeader()) return error;
    if (!bodyBytes_) return std::nullopt;
  }
  if (pending().size() < *bodyBytes_) return std::nullopt;
  std::string body(pending().substr(0, static_cast<size_t>(*bodyBytes_)));
  bodyBytes_.reset();
  consume(body.size());
  return body;
}

// Sets bodyBytes_ when a header block is complete; returns an error where there is something to report.
std::optional<Result<std::string>> FrameDecoder::takeHeader() {
  const std::string_view text = pending();
  const std::optional<Block> block = readBlock(text);
  if (!block) {
    if (text.size() <= kMaxHeaderBytes) return std::nullopt;
    return rejectHeader("a header has no end");
  }
  if (!block->clean) return rejectHeader("something that is no message came: '" + excerpt(text) + "'");
  if (!block->length) return rejectHeader("a header without Content-Length came: '" + excerpt(text) + "'");
  uint64_t bytes = 0;
  const char* end = block->length->data() + block->length->size();
  const auto [stop, status] = std::from_chars(block->length->data(), end, bytes);
  if (status != std::errc() || stop != end) {
    return rejectHeader("Content-Length is no size: '" + excerpt(*block->length) + "'");
  }
  consume(block->bytes);
  if (bytes > maxFrameBytes_) {
    skipBytes_ = bytes;
    skipOversized();
    return fail(ErrorCode::Unsupported,
                "a message of " + std::to_string(bytes) + " bytes is too large and was skipped");
  }
  bodyBytes_ = bytes;
  return std::nullopt;
}

// Drops the bytes up to the next header that may start a frame.
std::optional<Result<std::string>> FrameDecoder::rejectHeader(std::string message) {
  const std::string_view text = pending();
  const bool startsWithHeader = findLengthHeader(text, 0) == 0;
  const size_t found = findLengthHeader(text, startsWithHeader ? 1 : 0);
  if (found != std::string_view::npos) {
    consume(found);
  } else {
    // The end may be the beginning of a header that is cut in two.
    const size_t keep = std::min(text.size() - 1, kLengthHeader.size());
    const std::string_view tail = text.substr(text.size() - keep);
    const size_t line = tail.rfind('\n');
    consume(text.size() - (line == std::string_view::npos ? keep : keep - line - 1));
  }
  return fail(ErrorCode::BadInput, std::move(message));
}

}  // namespace normlens::protocol
