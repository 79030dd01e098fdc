// A zip file in memory: entries by name, stored or deflated, with every offset and size checked before it is used.
//
// Errors: Unreadable with one plain sentence without the file's name (the caller knows it). Thread: immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace normlens::run {

struct ZipEntry {
  std::string name;
  uint16_t method = 0;  // 0 stored, 8 deflated
  uint16_t flags = 0;
  uint32_t crc = 0;
  uint64_t packedBytes = 0;
  uint64_t bytes = 0;
  uint64_t headerOffset = 0;  // of the local header
};

[[nodiscard]] Result<std::vector<ZipEntry>> listZip(std::span<const std::byte> file);
// The unpacked bytes; the checksum is verified.
[[nodiscard]] Result<std::vector<std::byte>> unpackZipEntry(std::span<const std::byte> file, const ZipEntry& entry);

// Builds a zip of stored entries. Error: WriteFailed beyond the format's 4 GiB.
class ZipWriter {
 public:
  Status add(const std::string& name, std::span<const std::byte> bytes);
  [[nodiscard]] std::vector<std::byte> finish() &&;

 private:
  std::vector<std::byte> file_;
  std::vector<std::byte> directory_;
  uint16_t entries_ = 0;
};

}  // namespace normlens::run
