// Frames of the Language Server Protocol over a byte stream: "Content-Length: N\r\n\r\n" and N bytes of body.
//
//   FrameDecoder decoder;
//   decoder.feed(chunk);                       // as the bytes come, cut anywhere
//   while (auto frame = decoder.next()) {
//     if (*frame) handle(**frame); else log(frame->error());
//   }
// Anything that is not a frame as encodeFrame() writes it (a library's print, a header without a length) is skipped up
// to the next header and reported as an Error (BadInput); a frame over the cap is skipped without being stored
// (Unsupported). Thread: one thread per decoder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace normlens::protocol {

inline constexpr uint64_t kMaxFrameBytes = uint64_t{1} << 30;

[[nodiscard]] std::string encodeFrame(std::string_view body);

class FrameDecoder {
 public:
  explicit FrameDecoder(uint64_t maxFrameBytes = kMaxFrameBytes) : maxFrameBytes_(maxFrameBytes) {}

  void feed(std::string_view chunk);
  // Returns the next body or the next error; nullopt: more bytes are needed.
  [[nodiscard]] std::optional<Result<std::string>> next();
  // Returns whether a header has come, and not all of its body.
  [[nodiscard]] bool within() const { return bodyBytes_ || skipBytes_ > 0; }

 private:
  [[nodiscard]] std::string_view pending() const { return std::string_view(buffer_).substr(begin_); }
  void consume(size_t bytes);
  void skipOversized();
  Status takeHeader();

  uint64_t maxFrameBytes_;
  std::string buffer_;
  size_t begin_ = 0;                   // start of the bytes of buffer_ that are not used yet
  std::optional<uint64_t> bodyBytes_;  // set between a header and its body
  uint64_t skipBytes_ = 0;             // left of an oversized body
};

}  // namespace normlens::protocol
