#include "core/formats/archive/archive_capture.h"

#include <algorithm>

#include "core/formats/archive/zip_layout.h"

namespace normlens::formats {
namespace {

using namespace zip;

// Below this size a reference costs more than a copy.
constexpr size_t kWorthReferencing = size_t{16} << 10;

tl::unexpected<Error> notAZip() {
  return fail(ErrorCode::Internal, "the archive to be written is not a zip archive as torch makes them");
}

}  // namespace

void CapturedArchive::append(const void* data, size_t size) {
  if (size == 0) return;
  if ((unread_ && unread_(data, size)) || (size >= kWorthReferencing && stable_(data, size))) {
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

size_t CapturedArchive::pieceAt(uint64_t start) const {
  const auto next = std::upper_bound(pieces_.begin(), pieces_.end(), start,
                                     [](uint64_t value, const Piece& piece) { return value < piece.start; });
  return static_cast<size_t>(next - pieces_.begin()) - 1;
}

const std::byte* CapturedArchive::at(uint64_t start, uint64_t size) const {
  if (start > size_ || size > size_ - start || size == 0) return nullptr;
  const Piece& piece = pieces_[pieceAt(start)];
  return start + size > piece.start + piece.size ? nullptr : piece.data + (start - piece.start);
}

std::vector<std::span<const std::byte>> CapturedArchive::bytesAt(uint64_t start, uint64_t size) const {
  std::vector<std::span<const std::byte>> out;
  for (size_t i = size == 0 ? pieces_.size() : pieceAt(start); i < pieces_.size() && size > 0; ++i) {
    const uint64_t skip = start - pieces_[i].start;
    const auto count = std::min<uint64_t>(pieces_[i].size - skip, size);
    out.emplace_back(pieces_[i].data + skip, count);
    start += count;
    size -= count;
  }
  return out;
}

Result<std::vector<RecordToWrite>> CapturedArchive::records() const {
  const std::byte* end = size_ < kEndSize ? nullptr : at(size_ - kEndSize, kEndSize);
  if (end == nullptr || read<uint32_t>(end) != kEndOfDirectory) return notAZip();
  uint64_t count = read<uint16_t>(end + 10);
  uint64_t start = read<uint32_t>(end + 16);
  const std::byte* locator =
      size_ < kEndSize + kLocatorSize ? nullptr : at(size_ - kEndSize - kLocatorSize, kLocatorSize);
  if (locator != nullptr && read<uint32_t>(locator) == kLocator64) {
    const std::byte* end64 = at(read<uint64_t>(locator + 8), kEnd64Size);
    if (end64 == nullptr || read<uint32_t>(end64) != kEndOfDirectory64) return notAZip();
    count = read<uint64_t>(end64 + 32);
    start = read<uint64_t>(end64 + 48);
  }
  std::vector<RecordToWrite> records;
  while (records.size() < count) {
    const std::byte* entry = at(start, kEntrySize);
    if (entry == nullptr || read<uint32_t>(entry) != kDirectoryEntry) return notAZip();
    const uint64_t nameSize = read<uint16_t>(entry + 28);
    const uint64_t length = kEntrySize + nameSize + read<uint16_t>(entry + 30) + read<uint16_t>(entry + 32);
    if (at(start, length) == nullptr) return notAZip();
    Extent extent;
    if (!readExtent(entry, extent)) return notAZip();
    const std::byte* local = at(extent.header, kHeaderSize);
    if (local == nullptr || read<uint32_t>(local) != kLocalHeader) return notAZip();
    RecordToWrite record;
    record.name.assign(reinterpret_cast<const char*>(entry) + kEntrySize, nameSize);
    record.method = static_cast<ZipMethod>(read<uint16_t>(entry + 10));
    record.size = extent.size;
    const uint64_t data = extent.header + kHeaderSize + read<uint16_t>(local + 26) + read<uint16_t>(local + 28);
    if (data + extent.packed > size_) return notAZip();
    record.bytes = bytesAt(data, extent.packed);
    records.push_back(std::move(record));
    start += length;
  }
  return records;
}

}  // namespace normlens::formats
