#include "core/formats/torchscript/archive_writer.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>
#include <thread>

#include "core/formats/torchscript/archive_crc.h"
#include "core/formats/torchscript/atomic_file.h"

namespace normlens::formats::torchscript {
namespace {

// Below this size a reference costs more than a copy.
constexpr size_t kWorthReferencing = size_t{16} << 10;

constexpr uint32_t kEndOfDirectory = 0x06054b50, kEndOfDirectory64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr uint32_t kDirectoryEntry = 0x02014b50, kLocalHeader = 0x04034b50, kDescriptor = 0x08074b50;
constexpr size_t kEndSize = 22, kLocatorSize = 20, kEntrySize = 46, kHeaderSize = 30;
constexpr uint32_t kIn64 = 0xffffffffU;
constexpr uint16_t kDescriptorFollows = 1U << 3;

template <class T>
T read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

tl::unexpected<Error> notAZip() {
  return fail(ErrorCode::Internal, "the archive to be written is not a zip archive as torch makes them");
}

// The 64-bit values of an entry, which stand in its extra field where the 32-bit ones are full.
struct Sizes {
  uint64_t size, packed, header;
};

Sizes sizesOf(const std::byte* entry) {
  Sizes out{read<uint32_t>(entry + 24), read<uint32_t>(entry + 20), read<uint32_t>(entry + 42)};
  const std::byte* at = entry + kEntrySize + read<uint16_t>(entry + 28);
  const std::byte* end = at + read<uint16_t>(entry + 30);
  while (at + 4 <= end) {
    const auto id = read<uint16_t>(at);
    const auto length = read<uint16_t>(at + 2);
    at += 4;
    if (id == 1) {
      const std::byte* value = at;
      for (uint64_t* field : {&out.size, &out.packed, &out.header}) {
        if (*field != kIn64 || value + 8 > end) continue;
        *field = read<uint64_t>(value);
        value += 8;
      }
    }
    at += length;
  }
  return out;
}

}  // namespace

void CapturedArchive::append(const void* data, size_t size) {
  if (size == 0) return;
  if (size >= kWorthReferencing && stable_(data, size)) {
    pieces_.push_back({size_, static_cast<const std::byte*>(data), size, nullptr});
  } else {
    if (pieces_.empty() || pieces_.back().owned == nullptr) {
      owned_.emplace_back();
      pieces_.push_back({size_, nullptr, 0, &owned_.back()});
    }
    Piece& piece = pieces_.back();
    piece.owned->append(static_cast<const char*>(data), size);
    piece.data = reinterpret_cast<const std::byte*>(piece.owned->data());
    piece.size = piece.owned->size();
  }
  size_ += size;
}

size_t CapturedArchive::pieceAt(uint64_t at) const {
  const auto next = std::upper_bound(pieces_.begin(), pieces_.end(), at,
                                     [](uint64_t value, const Piece& piece) { return value < piece.start; });
  return static_cast<size_t>(next - pieces_.begin()) - 1;
}

// Null where the range is not in one copied piece.
std::byte* CapturedArchive::editable(uint64_t at, size_t size) {
  if (at + size > size_) return nullptr;
  Piece& piece = pieces_[pieceAt(at)];
  if (piece.owned == nullptr || at + size > piece.start + piece.size) return nullptr;
  return reinterpret_cast<std::byte*>(piece.owned->data()) + (at - piece.start);
}

std::vector<std::span<const std::byte>> CapturedArchive::bytesAt(uint64_t at, uint64_t size) const {
  std::vector<std::span<const std::byte>> out;
  for (size_t i = size == 0 ? pieces_.size() : pieceAt(at); i < pieces_.size() && size > 0; ++i) {
    const uint64_t skip = at - pieces_[i].start;
    const auto count = std::min<uint64_t>(pieces_[i].size - skip, size);
    out.emplace_back(pieces_[i].data + skip, count);
    at += count;
    size -= count;
  }
  return out;
}

Result<std::vector<CapturedArchive::Record>> CapturedArchive::readDirectory() {
  if (size_ < kEndSize) return notAZip();
  const std::byte* end = editable(size_ - kEndSize, kEndSize);
  if (end == nullptr || read<uint32_t>(end) != kEndOfDirectory) return notAZip();
  uint64_t count = read<uint16_t>(end + 10);
  uint64_t start = read<uint32_t>(end + 16);
  const std::byte* locator = size_ < kEndSize + kLocatorSize ? nullptr : editable(size_ - kEndSize - kLocatorSize, kLocatorSize);
  if (locator != nullptr && read<uint32_t>(locator) == kLocator64) {
    const std::byte* end64 = editable(read<uint64_t>(locator + 8), 56);
    if (end64 == nullptr || read<uint32_t>(end64) != kEndOfDirectory64) return notAZip();
    count = read<uint64_t>(end64 + 32);
    start = read<uint64_t>(end64 + 48);
  }
  std::vector<Record> records;
  for (uint64_t at = start; records.size() < count;) {
    std::byte* entry = editable(at, kEntrySize);
    if (entry == nullptr || read<uint32_t>(entry) != kDirectoryEntry) return notAZip();
    const size_t length = kEntrySize + read<uint16_t>(entry + 28) + read<uint16_t>(entry + 30) + read<uint16_t>(entry + 32);
    if (editable(at, length) == nullptr) return notAZip();
    const Sizes sizes = sizesOf(entry);
    Record record;
    record.packedSize = sizes.packed;
    record.size = sizes.size;
    record.deflated = read<uint16_t>(entry + 10) == 8;
    record.directoryCrc = entry + 16;
    record.name.assign(reinterpret_cast<const char*>(entry) + kEntrySize, read<uint16_t>(entry + 28));
    if (auto status = locate(record, sizes.header); !status) return tl::unexpected<Error>(status.error());
    records.push_back(std::move(record));
    at += length;
  }
  return records;
}

// Where the record's data and the second place of its CRC are.
Status CapturedArchive::locate(Record& record, uint64_t header) {
  std::byte* local = editable(header, kHeaderSize);
  if (local == nullptr || read<uint32_t>(local) != kLocalHeader) return notAZip();
  record.dataStart = header + kHeaderSize + read<uint16_t>(local + 26) + read<uint16_t>(local + 28);
  record.descriptorCrc = local + 14;
  if ((read<uint16_t>(local + 6) & kDescriptorFollows) == 0) return {};
  std::byte* descriptor = editable(record.dataStart + record.packedSize, 8);
  if (descriptor == nullptr || read<uint32_t>(descriptor) != kDescriptor) return notAZip();
  record.descriptorCrc = descriptor + 4;
  return {};
}

Result<uint32_t> CapturedArchive::crcOfRecord(const Record& record) const {
  const auto parts = bytesAt(record.dataStart, record.packedSize);
  uint32_t crc = 0;
  if (!record.deflated) {
    for (const auto& part : parts) crc = crcOf(crc, part.data(), part.size());
    return crc;
  }
  if (parts.size() > 1) return notAZip();
  const auto unpacked = crcOfDeflated(parts.empty() ? std::span<const std::byte>() : parts[0], record.size);
  if (!unpacked) return notAZip();
  return *unpacked;
}

// The records' CRC fields lie in copied pieces, which nobody else touches meanwhile.
Status CapturedArchive::fillCrcs(std::vector<Record> records, unsigned threads) const {
  // Largest first: the last one to finish is then a small one.
  std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) { return a.packedSize > b.packedSize; });
  std::atomic<size_t> next = 0;
  std::atomic<bool> sound = true;
  const auto work = [&] {
    for (size_t i = next++; i < records.size(); i = next++) {
      const auto crc = crcOfRecord(records[i]);
      if (!crc) {
        sound = false;
        return;
      }
      std::memcpy(records[i].directoryCrc, &*crc, sizeof(uint32_t));
      std::memcpy(records[i].descriptorCrc, &*crc, sizeof(uint32_t));
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (unsigned i = 1; i < threads; ++i) helpers.emplace_back(work);
    work();
  }
  return sound ? Status{} : Status(notAZip());
}

Status CapturedArchive::writePieces(AtomicFile& file, bool owned) const {
  for (const auto& piece : pieces_) {
    if ((piece.owned != nullptr) != owned) continue;
    if (auto status = file.writeAt(piece.start, piece.data, piece.size); !status) return status;
  }
  return {};
}

Status CapturedArchive::writeTo(const std::filesystem::path& path, unsigned threads) {
  auto records = readDirectory();
  if (!records) return tl::unexpected<Error>(records.error());
  auto file = AtomicFile::create(path, size_);
  if (!file) return tl::unexpected<Error>(file.error());
  // Referenced pieces first; the copied ones hold the sums and wait for them.
  auto sums = std::async(std::launch::async, [&] { return fillCrcs(std::move(*records), threads); });
  const auto written = writePieces(*file, false);
  const auto summed = sums.get();
  if (!written) return written;
  if (!summed) return summed;
  if (auto status = writePieces(*file, true); !status) return status;
  return file->commit();
}

}  // namespace normlens::formats::torchscript
