#include "core/formats/torchscript/archive_reader.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

namespace normlens::formats::torchscript {
namespace {

using Bytes = std::span<const std::byte>;

// Sizes and signatures of the zip format (PKWARE APPNOTE 4.3).
constexpr size_t kLocalHeaderSize = 30;
constexpr size_t kCentralHeaderSize = 46;
constexpr size_t kEndRecordSize = 22;
constexpr size_t kZip64LocatorSize = 20;
constexpr size_t kZip64EndSize = 56;
constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint32_t kCentralSignature = 0x02014b50;
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kZip64LocatorSignature = 0x07064b50;
constexpr uint32_t kZip64EndSignature = 0x06064b50;
constexpr uint16_t kZip64ExtraId = 1;
constexpr uint32_t kIn32 = std::numeric_limits<uint32_t>::max();  // "the real value is in the zip64 field"

// Little-endian unsigned integer of n bytes; the caller has checked the range.
uint64_t readInt(Bytes bytes, uint64_t offset, size_t n) {
  uint64_t value = 0;
  for (size_t i = n; i-- > 0;) value = (value << 8) | std::to_integer<uint64_t>(bytes[offset + i]);
  return value;
}
uint16_t read16(Bytes b, uint64_t o) { return static_cast<uint16_t>(readInt(b, o, 2)); }
uint32_t read32(Bytes b, uint64_t o) { return static_cast<uint32_t>(readInt(b, o, 4)); }
uint64_t read64(Bytes b, uint64_t o) { return readInt(b, o, 8); }

bool fits(uint64_t offset, uint64_t length, uint64_t total) { return offset <= total && length <= total - offset; }

// LibTorch looks records up without regard to the case of ASCII letters.
bool comesBefore(std::string_view a, std::string_view b) {
  return std::ranges::lexicographical_compare(a, b, {}, lowerCase, lowerCase);
}

struct Directory {
  uint64_t offset = 0, size = 0, entries = 0;
};

std::optional<uint64_t> findEndRecord(Bytes file) {
  if (file.size() < kEndRecordSize) return std::nullopt;
  constexpr uint64_t kMaxComment = 0xffff;
  const uint64_t last = file.size() - kEndRecordSize;
  const uint64_t first = last > kMaxComment ? last - kMaxComment : 0;
  for (uint64_t at = last + 1; at-- > first;) {
    if (read32(file, at) == kEndSignature) return at;  // whatever its comment says: LibTorch takes the last one, too
  }
  return std::nullopt;
}

std::optional<Directory> readDirectory(Bytes file, uint64_t end) {
  if (read16(file, end + 4) != read16(file, end + 6)) return std::nullopt;  // several disks
  Directory found{read32(file, end + 16), read32(file, end + 12), read16(file, end + 10)};
  if (!fits(end + kEndRecordSize, read16(file, end + 20), file.size())) return std::nullopt;
  if (end >= kZip64LocatorSize + kZip64EndSize && read32(file, end - kZip64LocatorSize) == kZip64LocatorSignature) {
    const uint64_t at = read64(file, end - kZip64LocatorSize + 8);
    if (!fits(at, kZip64EndSize, file.size()) || read32(file, at) != kZip64EndSignature) return std::nullopt;
    found = {read64(file, at + 48), read64(file, at + 40), read64(file, at + 32)};
  }
  if (!fits(found.offset, found.size, end)) return std::nullopt;
  if (found.entries > found.size / kCentralHeaderSize) return std::nullopt;
  return found;
}

// Replaces the sizes and offset that did not fit in 32 bits by those of the zip64 extra field.
bool readZip64Extra(Bytes extra, ZipRecord& record) {
  const bool wanted = record.size == kIn32 || record.compressedSize == kIn32 || record.headerOffset == kIn32;
  uint64_t at = 0;
  while (fits(at, 4, extra.size())) {
    const uint16_t id = read16(extra, at);
    const uint16_t length = read16(extra, at + 2);
    at += 4;
    if (!fits(at, length, extra.size())) return !wanted;
    if (id == kZip64ExtraId) {
      const uint64_t stop = at + length;
      for (uint64_t* field : {&record.size, &record.compressedSize, &record.headerOffset}) {
        if (*field != kIn32) continue;
        if (!fits(at, 8, stop)) return false;
        *field = read64(extra, at);
        at += 8;
      }
      return true;
    }
    at += length;
  }
  return !wanted;
}

// Finds where the data starts; the local header repeats the name, which must agree.
const char* locateData(Bytes file, ZipRecord& record) {
  if (!fits(record.headerOffset, kLocalHeaderSize, file.size())) return "lies outside the file";
  const uint64_t at = record.headerOffset;
  if (read32(file, at) != kLocalSignature) return "has no local header";
  const uint64_t nameLength = read16(file, at + 26), extraLength = read16(file, at + 28);
  record.dataOffset = at + kLocalHeaderSize + nameLength + extraLength;
  if (!fits(record.dataOffset, record.compressedSize, file.size())) return "reaches past the end of the file";
  const auto* name = reinterpret_cast<const char*>(file.data() + at + kLocalHeaderSize);
  if (std::string_view(name, nameLength) != record.name) return "has another name in its local header";
  return nullptr;
}

tl::unexpected<Error> damaged(const MappedFile& file, const std::string& what) {
  return fail(ErrorCode::Unreadable, file.path().string() + " is not a complete zip archive: " + what,
              "copy or export the file again");
}

// One entry of the central directory at `at`, which is moved past it. Errors: what is wrong, in words.
tl::expected<ZipRecord, std::string> readEntry(Bytes file, uint64_t& at, uint64_t stop) {
  using Bad = tl::unexpected<std::string>;
  if (!fits(at, kCentralHeaderSize, stop) || read32(file, at) != kCentralSignature)
    return Bad("its directory is damaged");
  const uint64_t nameLength = read16(file, at + 28), extraLength = read16(file, at + 30),
                 commentLength = read16(file, at + 32);
  if (!fits(at + kCentralHeaderSize, nameLength + extraLength + commentLength, stop))
    return Bad("its directory is damaged");
  ZipRecord record;
  record.name.assign(reinterpret_cast<const char*>(file.data() + at + kCentralHeaderSize), nameLength);
  // LibTorch's names end at a zero byte; the others would break the lines that tell of them.
  if (std::ranges::any_of(record.name, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    return Bad("the name of a record has a control character");
  const uint16_t flags = read16(file, at + 8), method = read16(file, at + 10);
  record.crc = read32(file, at + 16);
  record.compressedSize = read32(file, at + 20);
  record.size = read32(file, at + 24);
  record.headerOffset = read32(file, at + 42);
  if (!readZip64Extra(file.subspan(at + kCentralHeaderSize + nameLength, extraLength), record))
    return Bad("record '" + record.name + "' has no zip64 sizes");
  if ((flags & 1) != 0) return Bad("record '" + record.name + "' is encrypted");
  if (method != 0 && method != 8)
    return Bad("record '" + record.name + "' uses compression method " + std::to_string(method));
  // LibTorch reads nothing of what is marked as a folder, and leaves its memory as it comes.
  constexpr uint32_t kDosFolder = 0x10;
  if (record.size != 0 && (record.name.ends_with('/') || (read32(file, at + 38) & kDosFolder) != 0))
    return Bad("record '" + record.name + "' is a folder with content");
  record.method = static_cast<ZipMethod>(method);
  if (record.method == ZipMethod::Stored && record.size != record.compressedSize)
    return Bad("record '" + record.name + "' has two different sizes");
  if (const char* problem = locateData(file, record)) return Bad("record '" + record.name + "' " + problem);
  at += kCentralHeaderSize + nameLength + extraLength + commentLength;
  return record;
}

}  // namespace

Result<std::shared_ptr<const Archive>> Archive::open(std::shared_ptr<const MappedFile> file) {
  const Bytes bytes = file->bytes();
  const auto end = findEndRecord(bytes);
  if (!end) return damaged(*file, "it has no end-of-central-directory record, so it looks truncated");
  const auto directory = readDirectory(bytes, *end);
  if (!directory) return damaged(*file, "its end record points outside the file");
  std::shared_ptr<Archive> archive(new Archive);
  archive->file_ = file;
  uint64_t at = directory->offset;
  for (uint64_t i = 0; i < directory->entries; ++i) {
    auto record = readEntry(bytes, at, directory->offset + directory->size);
    if (!record) return damaged(*file, record.error());
    archive->records_.push_back(std::move(*record));
  }
  if (const std::string problem = archive->sortRecords(); !problem.empty()) return damaged(*file, problem);
  if (!archive->records_.empty()) {
    const std::string& first = archive->records_.front().name;
    const size_t slash = first.find('/');
    if (slash != std::string::npos) archive->prefix_ = first.substr(0, slash + 1);
  }
  return archive;
}

std::string Archive::sortRecords() {
  byName_.resize(records_.size());
  std::iota(byName_.begin(), byName_.end(), 0U);
  std::ranges::sort(byName_,
                    [&](uint32_t a, uint32_t b) { return records_[a].headerOffset < records_[b].headerOffset; });
  const auto shared = std::ranges::adjacent_find(byName_, [&](uint32_t a, uint32_t b) {
    return records_[a].dataOffset + records_[a].compressedSize > records_[b].headerOffset;
  });
  if (shared != byName_.end()) return "record '" + records_[*shared].name + "' reaches into the next one";
  std::ranges::sort(byName_, [&](uint32_t a, uint32_t b) { return comesBefore(records_[a].name, records_[b].name); });
  const auto twin = std::ranges::adjacent_find(
      byName_, [&](uint32_t a, uint32_t b) { return !comesBefore(records_[a].name, records_[b].name); });
  return twin == byName_.end() ? "" : "record '" + records_[*twin].name + "' is there twice";
}

const ZipRecord* Archive::find(std::string_view name) const {
  const auto found = std::lower_bound(byName_.begin(), byName_.end(), name, [&](uint32_t i, std::string_view key) {
    return comesBefore(records_[i].name, key);
  });
  if (found == byName_.end() || records_[*found].name != name) return nullptr;
  return &records_[*found];
}

std::span<const std::byte> Archive::stored(const ZipRecord& record) const {
  return bytes().subspan(record.dataOffset, record.compressedSize);
}

Result<std::string> Archive::read(const ZipRecord& record, uint64_t limit) const {
  if (record.size > limit)
    return damaged(*file_, "record '" + record.name + "' unpacks to " + std::to_string(record.size) + " bytes");
  const auto content = stored(record);
  const auto* source = reinterpret_cast<const char*>(content.data());
  if (record.method == ZipMethod::Stored) return std::string(source, content.size());
  std::string out(record.size, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return fail(ErrorCode::Internal, "zlib could not be started");
  size_t used = 0, made = 0;
  int state = Z_OK;
  while (state == Z_OK) {  // zlib counts in 32 bits: feed it in pieces
    constexpr size_t kPiece = size_t{1} << 30;
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(source + used));
    stream.avail_in = static_cast<uInt>(std::min(kPiece, content.size() - used));
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + made);
    stream.avail_out = static_cast<uInt>(std::min(kPiece, out.size() - made));
    const uInt in = stream.avail_in, room = stream.avail_out;
    state = inflate(&stream, Z_NO_FLUSH);
    used += in - stream.avail_in;
    made += room - stream.avail_out;
    if (state == Z_OK && in == stream.avail_in && room == stream.avail_out) break;  // no progress
  }
  inflateEnd(&stream);
  if (state != Z_STREAM_END || made != out.size())
    return damaged(*file_, "record '" + record.name + "' does not unpack to its size");
  return out;
}

}  // namespace normlens::formats::torchscript
