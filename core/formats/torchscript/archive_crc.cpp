#include "core/formats/torchscript/archive_crc.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "core/formats/torchscript/archive_reader.h"

#ifdef NORMLENS_HAVE_ISAL
#include <isa-l/crc.h>
#endif

namespace normlens::formats::torchscript {

uint32_t crcOf(uint32_t start, const std::byte* data, size_t size) {
#ifdef NORMLENS_HAVE_ISAL
  return crc32_gzip_refl(start, reinterpret_cast<const unsigned char*>(data), size);
#else
  return static_cast<uint32_t>(crc32_z(start, reinterpret_cast<const Bytef*>(data), size));
#endif
}

std::optional<uint32_t> crcOfDeflated(std::span<const std::byte> packed, uint64_t size) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return std::nullopt;
  std::array<std::byte, 1 << 16> buffer;  // NOLINT: filled by inflate
  uint32_t crc = 0;
  uint64_t made = 0;
  size_t used = 0;
  int state = Z_OK;
  while (state == Z_OK && made <= size) {
    constexpr size_t kPiece = size_t{1} << 30;
    const auto in = static_cast<uInt>(std::min(kPiece, packed.size() - used));
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + used));
    stream.avail_in = in;
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    state = inflate(&stream, Z_NO_FLUSH);
    const size_t got = buffer.size() - stream.avail_out;
    crc = crcOf(crc, buffer.data(), got);
    made += got;
    used += in - stream.avail_in;
    if (state == Z_OK && got == 0 && in == stream.avail_in) break;
  }
  inflateEnd(&stream);
  if (state != Z_STREAM_END || made != size) return std::nullopt;
  return crc;
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

bool holdsTensor(const Archive& archive, const ZipRecord& record) {
  const std::string_view name =
      std::string_view(record.name).substr(std::min(archive.prefix().size(), record.name.size()));
  return record.method == ZipMethod::Stored && (name.starts_with("data/") || name.starts_with("constants/"));
}

}  // namespace

Status checkCrcs(const Archive& archive, unsigned threads, CrcScope scope) {
  const auto& records = archive.records();
  const auto wanted = [&](const ZipRecord& record) {
    return scope == CrcScope::All || holdsTensor(archive, record) == (scope == CrcScope::Tensors);
  };
  std::atomic<size_t> next = 0;
  std::atomic<size_t> firstBad = records.size();
  const auto work = [&] {
    std::vector<std::byte> buffer;
    for (size_t i = next++; i < records.size(); i = next++) {
      if (i > firstBad || !wanted(records[i]) || recordIsSound(archive, records[i], buffer)) continue;
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

}  // namespace normlens::formats::torchscript
