// Writes small zip archives, right or deliberately wrong, for the tests of the reader. No zip library: each field is
// where the test can bend it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace normlens::formats::test {

struct ZipEntry {
  std::string name = {};
  std::string content = {};  // stored as it is, or raw DEFLATE data
  uint16_t method = 0;
  uint16_t flags = 0;
  int64_t size = -1;           // uncompressed; -1: content's
  int64_t crc = -1;            // -1: the right one (stored entries only)
  bool zip64 = false;          // sizes and offset in the zip64 extra field
  std::string localName = {};  // in the local header; empty: the same
  uint32_t attributes = 0;     // 0x10: a folder
};

// The bytes of an archive with these entries.
[[nodiscard]] std::string buildZip(const std::vector<ZipEntry>& entries);
// Raw DEFLATE of some bytes.
[[nodiscard]] std::string deflated(const std::string& content);
void writeFile(const std::filesystem::path& path, const std::string& bytes);

}  // namespace normlens::formats::test
