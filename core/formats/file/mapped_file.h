// A file mapped into memory, read-only. Thread: immutable after open; concurrent reads are safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "core/base/result.h"

namespace normlens::formats {

class MappedFile {
 public:
  // Errors: Unreadable (no such file, a folder, not a regular file, cannot be mapped).
  [[nodiscard]] static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);
  // Some of its bytes as a file of their own (an archive in an archive). Null where the file is shorter.
  [[nodiscard]] static std::shared_ptr<const MappedFile> part(std::shared_ptr<const MappedFile> whole, uint64_t offset,
                                                              uint64_t size);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  // The same bytes once more, to be given to who may write to memory: what is written stays in the process. Made when
  // it is first called; empty where that fails.
  [[nodiscard]] std::span<std::byte> copyOnWrite() const;
  // Returns where bytes of either mapping lie in the file; nullopt: elsewhere.
  [[nodiscard]] std::optional<uint64_t> offsetOf(std::span<const std::byte> bytes) const;
  // The pages of bytes that nobody reads for now are no longer the process's memory. Nothing where they lie elsewhere.
  void letGo(std::span<const std::byte> bytes) const;
  // Copies from the file without touching the mapping: whole-file passes then leave no pages behind in the process.
  // False when the file has become shorter or cannot be read.
  [[nodiscard]] bool readAt(uint64_t offset, std::span<std::byte> into) const;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // By its size and its times (that of the last change cannot be set back): nobody has written to it since it was
  // opened.
  [[nodiscard]] bool untouched() const;
  [[nodiscard]] bool asLong() const;  // as it was then, so that its bytes can be looked at
  // When it was last written, as it was opened: nanoseconds since 1970.
  [[nodiscard]] int64_t modified() const { return modified_; }

 private:
  MappedFile() = default;
  std::shared_ptr<const MappedFile> whole_;  // Set for a part.
  uint64_t start_ = 0;                       // Where a part begins in the whole.
  int fd_ = -1;
  int64_t modified_ = 0, changed_ = 0;  // nanoseconds since 1970
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  mutable std::once_flag copied_;
  mutable std::byte* copy_ = nullptr;
};

// Returns the error for a file that was written to while it was open.
[[nodiscard]] tl::unexpected<Error> changedSinceOpened(const std::filesystem::path& path);

}  // namespace normlens::formats
