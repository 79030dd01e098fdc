#include "core/formats/archive/archive_crc.h"

#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "core/formats/archive/archive_reader.h"
#include "core/formats/archive/inflate.h"

#ifdef NORMLENS_HAVE_ISAL
#include <isa-l/crc.h>
#endif

namespace normlens::formats {

uint32_t crcOf(uint32_t start, const std::byte* data, size_t size) {
#ifdef NORMLENS_HAVE_ISAL
  return crc32_gzip_refl(start, reinterpret_cast<const unsigned char*>(data), size);
#else
  return static_cast<uint32_t>(crc32_z(start, reinterpret_cast<const Bytef*>(data), size));
#endif
}

std::optional<uint32_t> crcOfDeflated(std::span<const std::byte> packed, uint64_t size) {
  uint32_t crc = 0;
  const bool whole = inflateTo(packed, size, [&](auto piece) { crc = crcOf(crc, piece.data(), piece.size()); });
  return whole ? std::optional(crc) : std::nullopt;
}

namespace {

// Stored records are read piece by piece: a piece stays in the processor's cache.
bool recordIsSound(const Archive& archive, const ZipRecord& record, std::vector<std::byte>& buffer) {
  if (record.method != ZipMethod::Stored) {
    const auto crc = crcOfDeflated(archive.stored(record), record.size);
    return crc && *crc == record.crc;
  }
  constexpr uint64_t kPiece = 1 << 18;
  buffer.resize(kPiece);
  uint32_t crc = 0;
  for (uint64_t done = 0; done < record.size; done += kPiece) {
    const auto piece = std::span(buffer).first(std::min(kPiece, record.size - done));
    if (!archive.file().readAt(record.dataOffset + done, piece)) return false;
    crc = crcOf(crc, piece.data(), piece.size());
  }
  return crc == record.crc;
}

}  // namespace

Status checkCrcs(const Archive& archive, unsigned threads, const std::function<bool(const ZipRecord&)>& wanted) {
  const auto& records = archive.records();
  std::atomic<size_t> next = 0;
  std::atomic<size_t> firstBad = records.size();
  const auto work = [&] {
    std::vector<std::byte> buffer;
    for (size_t i = next++; i < records.size(); i = next++) {
      if (i > firstBad || (wanted && !wanted(records[i])) || recordIsSound(archive, records[i], buffer)) continue;
      size_t known = firstBad;
      while (i < known && !firstBad.compare_exchange_weak(known, i)) {
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    const size_t atOnce = std::min<size_t>(threads, records.size());
    for (size_t i = 1; i < atOnce; ++i) helpers.emplace_back(work);
    work();
  }
  if (firstBad == records.size()) return {};
  return fail(ErrorCode::Unreadable,
              archive.file().path().string() + " is corrupt: CRC mismatch in record '" + records[firstBad].name + "'",
              "copy or export the file again");
}

}  // namespace normlens::formats
