#include "core/formats/archive/archive_writer.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>

#include "core/base/parallel.h"
#include "core/formats/archive/archive_reader.h"
#include "core/formats/archive/inflate.h"
#include "core/formats/archive/zip_layout.h"
#include "core/formats/file/atomic_file.h"
#include "core/formats/file/crc32.h"

namespace normlens::formats {
namespace {

using namespace zip;

// CRC-32 of what a DEFLATEd record holds.

// CRC of a DEFLATEd record's content, unpacked piece by piece. nullopt: it does not unpack to `size` bytes.
std::optional<uint32_t> crcOfDeflated(std::span<const std::byte> packed, uint64_t size) {
  uint32_t crc = 0;
  const bool whole = inflateTo(packed, size, [&](auto piece) { crc = crcOf(crc, piece.data(), piece.size()); });
  return whole ? std::optional(crc) : std::nullopt;
}

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

constexpr uint64_t kAlignment = 64;  // Tensor data in the file begin at its multiples, as torch maps them.
constexpr uint16_t kFlags = (1U << 3) | (1U << 11);  // sizes follow the data; names are UTF-8
constexpr uint16_t kVersion = 20, kVersion64 = 45;
constexpr uint16_t kPaddingField = 0x4246;  // "FB": torch's own padding

// Little-endian fields in a row.
class Fields {
 public:
  template <class T>
  Fields& put(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  Fields& text(const std::string& value) {
    out_ += value;
    return *this;
  }
  Fields& zeros(size_t count) {
    out_.append(count, '\0');
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const { return out_; }

 private:
  std::string out_;
};

bool needs64(uint64_t value) { return value >= kIn64; }
uint32_t low32(uint64_t value) { return needs64(value) ? kIn64 : static_cast<uint32_t>(value); }

struct Placed {
  RecordToWrite record;
  uint64_t packed = 0;
  uint64_t header = 0;
  uint64_t data = 0;
  std::string headerBytes;

  [[nodiscard]] bool large() const { return needs64(packed) || needs64(record.size); }
  [[nodiscard]] uint64_t descriptorSize() const { return large() ? 24 : 16; }
};

// Sizes and CRC are zero here: they follow the data.
std::string localHeader(const Placed& placed, uint64_t padding) {
  Fields extra;
  if (placed.large()) extra.put(kZip64Field).put<uint16_t>(16).put(placed.record.size).put(placed.packed);
  extra.put(kPaddingField).put(static_cast<uint16_t>(padding)).zeros(padding);
  Fields header;
  header.put(kLocalHeader).put(placed.large() ? kVersion64 : kVersion).put(kFlags);
  header.put(static_cast<uint16_t>(placed.record.method)).zeros(4 + 4);  // time, date, CRC
  header.put(placed.large() ? kIn64 : 0U).put(placed.large() ? kIn64 : 0U);
  header.put(static_cast<uint16_t>(placed.record.name.size())).put(static_cast<uint16_t>(extra.bytes().size()));
  return header.text(placed.record.name).text(extra.bytes()).bytes();
}

std::string descriptor(const Placed& placed) {
  Fields out;
  out.put(kDescriptor).put(placed.record.crc.value_or(0));
  if (placed.large()) return out.put(placed.packed).put(placed.record.size).bytes();
  return out.put(static_cast<uint32_t>(placed.packed)).put(static_cast<uint32_t>(placed.record.size)).bytes();
}

std::string directoryEntry(const Placed& placed) {
  Fields values;
  for (const uint64_t value : {placed.record.size, placed.packed, placed.header}) {
    if (needs64(value)) values.put(value);
  }
  const auto length = values.bytes().size();
  Fields entry;
  entry.put(kDirectoryEntry).put<uint16_t>(0).put(length > 0 ? kVersion64 : kVersion).put(kFlags);
  entry.put(static_cast<uint16_t>(placed.record.method)).zeros(4).put(placed.record.crc.value_or(0));
  entry.put(low32(placed.packed)).put(low32(placed.record.size));
  entry.put(static_cast<uint16_t>(placed.record.name.size())).put(static_cast<uint16_t>(length == 0 ? 0 : length + 4));
  entry.zeros(2 + 2 + 2 + 4).put(low32(placed.header)).text(placed.record.name);
  if (length > 0) entry.put(kZip64Field).put(static_cast<uint16_t>(length)).text(values.bytes());
  return entry.bytes();
}

std::string directory(const std::vector<Placed>& records, uint64_t start) {
  Fields out;
  for (const auto& placed : records) out.text(directoryEntry(placed));
  const uint64_t size = out.bytes().size();
  const uint64_t count = records.size();
  if (needs64(start) || needs64(size) || count >= 0xffff) {
    out.put(kEndOfDirectory64).put<uint64_t>(kEnd64Size - 12).put(kVersion64).put(kVersion64).zeros(8);
    out.put(count).put(count).put(size).put(start);
    out.put(kLocator64).zeros(4).put(start + size).put<uint32_t>(1);
  }
  const auto count16 = static_cast<uint16_t>(std::min<uint64_t>(count, 0xffff));
  out.put(kEndOfDirectory).zeros(4).put(count16).put(count16).put(low32(size)).put(low32(start)).zeros(2);
  return out.bytes();
}

std::vector<Placed> placeRecords(std::vector<RecordToWrite> records, uint64_t& end) {
  std::vector<Placed> out;
  uint64_t at = 0;
  for (auto& record : records) {
    Placed placed;
    placed.record = std::move(record);
    placed.packed = placed.record.packedSize();
    placed.header = at;
    const uint64_t unpadded = at + localHeader(placed, 0).size();
    placed.headerBytes = localHeader(placed, (kAlignment - unpadded % kAlignment) % kAlignment);
    placed.data = at + placed.headerBytes.size();
    at = placed.data + placed.packed + placed.descriptorSize();
    out.push_back(std::move(placed));
  }
  end = at;
  return out;
}

std::span<const std::byte> bytesOf(const std::string& text) { return std::as_bytes(std::span(text)); }

Status writeContents(AtomicFile& file, std::vector<Placed>& records, const ArchiveSources& sources, const Task& task) {
  std::vector<FilePiece> pieces;
  for (auto& placed : records) {
    auto& record = placed.record;
    pieces.push_back({placed.header, bytesOf(placed.headerBytes), {}, {}});
    const bool sums = !record.crc;
    if (sums) record.crc = 0;
    uint64_t at = placed.data;
    for (const auto& part : record.bytes) {
      pieces.push_back({at, part, sources.makerOf ? sources.makerOf(part) : MakeBytes(), {}});
      if (sums)
        pieces.back().see = [&record](auto bytes) { record.crc = crcOf(*record.crc, bytes.data(), bytes.size()); };
      at += part.size();
    }
  }
  return file.writeAll(pieces, task);
}

Status writeSums(AtomicFile& file, const std::vector<Placed>& records, uint64_t end) {
  for (const auto& placed : records) {
    const auto bytes = descriptor(placed);
    RETURN_IF_ERROR(file.writeAt(placed.data + placed.packed, bytesOf(bytes)));
  }
  const auto bytes = directory(records, end);
  return file.writeAt(end, bytesOf(bytes));
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

Status checkUnchanged(const Archive& archive) {
  if (archive.file().untouched()) return {};
  if (archive.file().asLong() && checkCrcs(archive, hardwareThreads())) return {};
  return changedSinceOpened(archive.file().path());
}

uint64_t RecordToWrite::packedSize() const {
  return std::accumulate(bytes.begin(), bytes.end(), uint64_t{0},
                         [](uint64_t sum, const auto& part) { return sum + part.size(); });
}

std::optional<uint32_t> contentCrc(const RecordToWrite& record) {
  if (record.method == ZipMethod::Stored) {
    uint32_t crc = 0;
    for (const auto& part : record.bytes) crc = crcOf(crc, part.data(), part.size());
    return crc;
  }
  if (record.bytes.size() > 1) return std::nullopt;
  return crcOfDeflated(record.bytes.empty() ? std::span<const std::byte>() : record.bytes[0], record.size);
}

Status writeArchive(const std::filesystem::path& path, std::vector<RecordToWrite> records,
                    const ArchiveSources& sources, const Task& task) {
  for (auto& record : records) {
    if (record.crc || record.method == ZipMethod::Stored) continue;
    record.crc = contentCrc(record);
    if (!record.crc) return fail(ErrorCode::Internal, "a record of the archive to be written is broken");
  }
  uint64_t end = 0;
  auto placed = placeRecords(std::move(records), end);
  auto file = AtomicFile::create(path, end + directory(placed, end).size());
  if (!file) return tl::unexpected<Error>(file.error());
  RETURN_IF_ERROR(writeContents(*file, placed, sources, task));
  RETURN_IF_ERROR(writeSums(*file, placed, end));
  RETURN_IF_ERROR(sources.stillGood ? sources.stillGood() : Status());
  return file->commit();
}

}  // namespace normlens::formats
