// Reads a zip archive's directory from a memory-mapped file, with checked arithmetic, without inflating anything.
//
// zip64 is understood; encryption, multi-disk archives and methods other than stored and DEFLATE are refused. The
// mapping stays valid while the Archive lives. Thread: immutable after open; concurrent reads are safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/formats/file/mapped_file.h"

namespace normlens::formats {

enum class ZipMethod : uint16_t { Stored = 0, Deflate = 8 };

struct ZipRecord {
  std::string name;  // as written: "gpt2/data/12"
  ZipMethod method = ZipMethod::Stored;
  uint32_t crc = 0;
  uint64_t dataOffset = 0;  // Where the (compressed) bytes begin in the file.
  uint64_t compressedSize = 0;
  uint64_t size = 0;          // uncompressed
  uint64_t headerOffset = 0;  // Where the local header begins.
};

// No two of its records overlap or have one name.
class Archive {
 public:
  // Errors: Unreadable with the reason ("no end-of-central-directory record: the file looks truncated").
  [[nodiscard]] static Result<std::shared_ptr<const Archive>> open(const std::shared_ptr<const MappedFile>& file);

  // Records of that file under other names, and of a zip in the zip. Errors: as open().
  [[nodiscard]] static Result<std::shared_ptr<const Archive>> of(std::shared_ptr<const MappedFile> file,
                                                                 std::vector<ZipRecord> records, std::string prefix);

  [[nodiscard]] const std::vector<ZipRecord>& records() const { return records_; }  // in directory order
  [[nodiscard]] const ZipRecord* find(std::string_view name) const;                 // null if absent
  [[nodiscard]] std::span<const std::byte> stored(const ZipRecord& record) const;   // as in the file
  // The record's content; inflates. Errors: Unreadable when it is broken or larger than `limit` bytes.
  [[nodiscard]] Result<std::string> read(const ZipRecord& record, uint64_t limit) const;
  // The folder all TorchScript records live in: "gpt2/"; empty if the first record is in none.
  [[nodiscard]] std::string_view prefix() const { return prefix_; }
  [[nodiscard]] const MappedFile& file() const { return *file_; }
  [[nodiscard]] std::shared_ptr<const MappedFile> sharedFile() const { return file_; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return file_->bytes(); }

 private:
  [[nodiscard]] std::string sortRecords();  // Returns the fault in them, in words.

  std::shared_ptr<const MappedFile> file_;
  std::vector<ZipRecord> records_;
  std::vector<uint32_t> byName_;  // record indices sorted by name
  std::string prefix_;
};

// CRC-32 (zip polynomial) of the contents of the records that are wanted, by default all, on `threads` threads.
// Errors: Unreadable, naming the record.
[[nodiscard]] Status checkCrcs(const Archive& archive, int threads,
                               const std::function<bool(const ZipRecord&)>& wanted = {});
// Written to since it was opened, its content may still be what its directory had then. Error: changedSinceOpened().
[[nodiscard]] Status checkUnchanged(const Archive& archive);

}  // namespace normlens::formats
