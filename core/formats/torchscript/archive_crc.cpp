#include "core/formats/torchscript/archive_crc.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <thread>

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

bool recordIsSound(const Archive& archive, const ZipRecord& record) {
  const auto content = archive.stored(record);
  if (record.method == ZipMethod::Stored) return crcOf(0, content.data(), content.size()) == record.crc;
  const auto crc = crcOfDeflated(content, record.size);
  return crc && *crc == record.crc;
}

}  // namespace

Status checkCrcs(const Archive& archive, unsigned threads) {
  const auto& records = archive.records();
  std::atomic<size_t> next = 0;
  std::atomic<size_t> firstBad = records.size();
  const auto work = [&] {
    for (size_t i = next++; i < records.size(); i = next++) {
      if (i > firstBad || recordIsSound(archive, records[i])) continue;
      size_t known = firstBad;
      while (i < known && !firstBad.compare_exchange_weak(known, i)) {
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    const size_t wanted = std::min<size_t>(threads, records.size());
    for (size_t i = 1; i < wanted; ++i) helpers.emplace_back(work);
    work();
  }
  if (firstBad == records.size()) return {};
  return fail(ErrorCode::Unreadable,
              archive.file().path().string() + " is corrupt: CRC mismatch in record '" + records[firstBad].name + "'",
              "copy or export the file again");
}

}  // namespace normlens::formats::torchscript
