// The pieces of a file in strokes, each made ready while the one before it is written. Private to formats/file.
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "core/formats/file/atomic_file.h"

namespace normlens::formats {

// Thread: one owner; the strokes are made on a thread of its own, which the destructor ends. The pieces outlive it.
class StrokesAhead {
 public:
  struct Stroke {
    uint64_t offset = 0;
    std::span<const std::byte> bytes;  // until the next call
  };
  explicit StrokesAhead(std::span<const FilePiece> pieces);
  ~StrokesAhead();
  StrokesAhead(const StrokesAhead&) = delete;
  StrokesAhead& operator=(const StrokesAhead&) = delete;

  // Returns the bytes of all pieces.
  [[nodiscard]] uint64_t bytes() const { return total_; }
  // nullopt: that was all.
  [[nodiscard]] std::optional<Result<Stroke>> next();

 private:
  static constexpr size_t kAhead = 4;

  struct Part {
    const FilePiece* piece;
    uint64_t at;
    size_t size;
  };
  void run();
  [[nodiscard]] Status prepare(size_t part);

  std::vector<Part> parts_;
  std::array<std::vector<std::byte>, kAhead> buffers_;
  std::array<Status, kAhead> made_;
  std::array<std::span<const std::byte>, kAhead> ready_;
  uint64_t total_ = 0;
  size_t taken_ = 0;                        // parts
  std::atomic<size_t> prepared_ = 0;        // parts
  std::atomic<size_t> limit_ = kAhead - 1;  // up to which it may go on
  std::atomic<bool> ended_ = false;
  std::thread worker_;
};

}  // namespace normlens::formats
