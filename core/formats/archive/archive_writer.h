// Writes a zip archive the way torch does: records aligned to 64 bytes, a data descriptor behind each, zip64 where
// something is larger than 4 GiB. CRCs that are not known are taken as the data passes.
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
#include "core/formats/file/atomic_file.h"

namespace normlens::formats {

struct RecordToWrite {
  std::string name;  // in the archive, folder included
  ZipMethod method = ZipMethod::Stored;
  uint64_t size = 0;                              // The content's.
  std::vector<std::span<const std::byte>> bytes;  // as they go into the file: packed if deflated
  std::optional<uint32_t> crc;                    // The content's, where it is known.

  [[nodiscard]] uint64_t packedSize() const;
};

// CRC-32 of the content; nullopt when it does not unpack.
[[nodiscard]] std::optional<uint32_t> contentCrc(const RecordToWrite& record);

// Holds the functions that a writer calls while it writes.
struct ArchiveSources {
  // Returns how bytes of a record are made; empty where they are in memory.
  std::function<MakeBytes(std::span<const std::byte>)> makerOf;
  // Called when all is written and before it gets its name.
  std::function<Status()> stillGood;
};

// Complete or not at all, see AtomicFile. Errors: WriteFailed; Cancelled; those of the sources; Internal when a
// deflated record is broken.
[[nodiscard]] Status writeArchive(const std::filesystem::path& path, std::vector<RecordToWrite> records,
                                  const ArchiveSources& sources, const Task& task);

}  // namespace normlens::formats
