// A zip archive taken in as a stream, as torch's serializer makes it, and cut into its records. No torch here.
//
// Large pieces that stay in memory anyway (tensors) are referenced, the rest is copied. CRCs of the stream are ignored.
// Thread: one thread per object; the records' bytes are valid while it lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/formats/archive/archive_writer.h"

namespace normlens::formats {

class CapturedArchive {
 public:
  // `stable`: returns whether memory stays as it is as long as this object lives. `unread`: what cannot be copied yet.
  using Asked = std::function<bool(const void* data, size_t size)>;
  explicit CapturedArchive(Asked stable, Asked unread = {}) : stable_(std::move(stable)), unread_(std::move(unread)) {}

  void append(const void* data, size_t size);

  // In directory order; names as in the stream. Errors: Internal when it is not a zip archive as torch makes them.
  [[nodiscard]] Result<std::vector<RecordToWrite>> records() const;

 private:
  struct Piece {
    uint64_t start = 0;
    const std::byte* data = nullptr;
    size_t size = 0;
    std::string* owned = nullptr;  // in owned_; null: referenced memory
  };

  // The range if it lies in one piece, else null.
  [[nodiscard]] const std::byte* at(uint64_t start, uint64_t size) const;
  [[nodiscard]] std::vector<std::span<const std::byte>> bytesAt(uint64_t start, uint64_t size) const;
  [[nodiscard]] size_t pieceAt(uint64_t start) const;

  Asked stable_, unread_;
  std::deque<std::string> owned_;
  std::vector<Piece> pieces_;
  uint64_t size_ = 0;
};

}  // namespace normlens::formats
