#include "core/formats/archive/archive_crc.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <span>

#include "core/base/parallel.h"
#include "core/formats/archive/archive_reader.h"
#include "core/formats/archive/inflate.h"
#include "core/formats/file/crc32.h"

namespace normlens::formats {

std::optional<uint32_t> crcOfDeflated(std::span<const std::byte> packed, uint64_t size) {
  uint32_t crc = 0;
  const bool whole = inflateTo(packed, size, [&](auto piece) { crc = crcOf(crc, piece.data(), piece.size()); });
  return whole ? std::optional(crc) : std::nullopt;
}

namespace {

// Stored records are read piece by piece: a piece stays in the processor's cache.
bool recordIsSound(const Archive& archive, const ZipRecord& record) {
  if (record.method != ZipMethod::Stored) {
    const auto crc = crcOfDeflated(archive.stored(record), record.size);
    return crc && *crc == record.crc;
  }
  constexpr uint64_t kPiece = 1 << 18;
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(std::min(kPiece, record.size));
  uint32_t crc = 0;
  for (uint64_t done = 0; done < record.size; done += kPiece) {
    const auto piece = std::span(buffer.get(), std::min(kPiece, record.size - done));
    if (!archive.file().readAt(record.dataOffset + done, piece)) return false;
    crc = crcOf(crc, piece.data(), piece.size());
  }
  return crc == record.crc;
}

}  // namespace

Status checkCrcs(const Archive& archive, int threads, const std::function<bool(const ZipRecord&)>& wanted) {
  const auto& records = archive.records();
  std::atomic<size_t> firstBad = records.size();
  parallelFor(threads, static_cast<int64_t>(records.size()), [&](int64_t record) {
    const auto i = static_cast<size_t>(record);
    if (i > firstBad || (wanted && !wanted(records[i])) || recordIsSound(archive, records[i])) return;
    size_t known = firstBad;
    while (i < known && !firstBad.compare_exchange_weak(known, i)) {
    }
  });
  if (firstBad == records.size()) return {};
  return fail(ErrorCode::Unreadable,
              archive.file().path().string() + " is corrupt: CRC mismatch in record '" + records[firstBad].name + "'",
              "copy or export the file again");
}

}  // namespace normlens::formats
