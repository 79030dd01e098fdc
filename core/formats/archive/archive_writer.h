// Writes a zip archive the way torch does: records aligned to 64 bytes, a data descriptor behind each, zip64 where
// something is larger than 4 GiB. Contents are given as memory; their CRCs are taken while the data is written.
// No torch here. Thread: one thread; helpers are started and joined inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/formats/archive/archive_reader.h"

namespace normlens::formats {

struct RecordToWrite {
  std::string name;  // in the archive, folder included
  ZipMethod method = ZipMethod::Stored;
  uint64_t size = 0;                              // of the content
  std::vector<std::span<const std::byte>> bytes;  // as they go into the file: packed if deflated
  std::optional<uint32_t> crc;                    // of the content, where it is known

  [[nodiscard]] uint64_t packedSize() const;
};

// CRC-32 of the content; nullopt when it does not unpack.
[[nodiscard]] std::optional<uint32_t> contentCrc(const RecordToWrite& record);

// To a temporary name in the same folder, fsynced, renamed: `path` holds the old content or the new one, and no other
// file is left behind. Errors: WriteFailed; Internal when a deflated record is broken.
// `stillGood` is asked when all is written and before it gets its name.
[[nodiscard]] Status writeArchive(const std::filesystem::path& path, std::vector<RecordToWrite> records, int threads,
                                  const std::function<Status()>& stillGood = {});

}  // namespace normlens::formats
