// A zip archive captured as it is produced, finished and written to a file.
//
// torch's serializer streams an archive; computing its CRCs and copying its tensors is most of the time that torch's own
// save takes. Here the stream is captured instead: tensor data is only referenced, the CRCs are filled in afterwards in
// parallel, and the file is written in one pass. No torch here. Thread: one thread per object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace normlens::formats::torchscript {

class AtomicFile;

class CapturedArchive {
 public:
  // `stable`: tells whether memory stays as it is until the archive is written; anything else is copied.
  explicit CapturedArchive(std::function<bool(const void* data, size_t size)> stable) : stable_(std::move(stable)) {}

  void append(const void* data, size_t size);
  [[nodiscard]] uint64_t size() const { return size_; }

  // Fills in the CRC-32 of every record (the stream is made without them) and writes to a new file in the same folder,
  // fsyncs, renames: `path` holds the old content or the new one, never a mixture, and no other file is left behind.
  // The sums are taken by `threads` helpers while the data is written.
  // Errors: WriteFailed; Internal when the stream is not a zip archive of the kind torch writes.
  [[nodiscard]] Status writeTo(const std::filesystem::path& path, unsigned threads);

 private:
  struct Piece {
    uint64_t start = 0;
    const std::byte* data = nullptr;
    size_t size = 0;
    std::string* owned = nullptr;   // in owned_; null: referenced memory
  };
  struct Record {
    uint64_t dataStart = 0;
    uint64_t packedSize = 0;
    uint64_t size = 0;
    bool deflated = false;
    std::byte* directoryCrc = nullptr;
    std::byte* descriptorCrc = nullptr;
    std::string name;
  };

  [[nodiscard]] std::byte* editable(uint64_t at, size_t size);
  [[nodiscard]] std::vector<std::span<const std::byte>> bytesAt(uint64_t at, uint64_t size) const;
  [[nodiscard]] size_t pieceAt(uint64_t at) const;
  [[nodiscard]] Result<std::vector<Record>> readDirectory();
  [[nodiscard]] Status locate(Record& record, uint64_t header);
  [[nodiscard]] Result<uint32_t> crcOfRecord(const Record& record) const;
  [[nodiscard]] Status fillCrcs(std::vector<Record> records, unsigned threads) const;
  [[nodiscard]] Status writePieces(AtomicFile& file, bool owned) const;

  std::function<bool(const void*, size_t)> stable_;
  std::deque<std::string> owned_;
  std::vector<Piece> pieces_;
  uint64_t size_ = 0;
};

}  // namespace normlens::formats::torchscript
