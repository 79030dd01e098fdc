#include "core/formats/archive/archive_reader.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/formats/archive/inflate.h"
#include "core/formats/archive/zip_layout.h"

namespace normlens::formats {
namespace {

using Bytes = std::span<const std::byte>;

using namespace zip;

// The caller has checked the range.
uint16_t read16(Bytes b, uint64_t o) { return read<uint16_t>(b.data() + o); }
uint32_t read32(Bytes b, uint64_t o) { return read<uint32_t>(b.data() + o); }
uint64_t read64(Bytes b, uint64_t o) { return read<uint64_t>(b.data() + o); }

bool fits(uint64_t offset, uint64_t length, uint64_t total) { return offset <= total && length <= total - offset; }

struct Directory {
  uint64_t offset = 0, size = 0, entries = 0;
};

std::optional<uint64_t> findEndRecord(Bytes file) {
  if (file.size() < kEndSize) return std::nullopt;
  constexpr uint64_t kMaxComment = 0xffff;
  const uint64_t last = file.size() - kEndSize;
  const uint64_t first = last > kMaxComment ? last - kMaxComment : 0;
  for (uint64_t at = last + 1; at-- > first;) {
    if (read32(file, at) == kEndOfDirectory) return at;  // whatever its comment is: LibTorch takes the last one, too
  }
  return std::nullopt;
}

std::optional<Directory> readDirectory(Bytes file, uint64_t end) {
  if (read16(file, end + 4) != read16(file, end + 6)) return std::nullopt;  // several disks
  Directory found{read32(file, end + 16), read32(file, end + 12), read16(file, end + 10)};
  if (!fits(end + kEndSize, read16(file, end + 20), file.size())) return std::nullopt;
  if (end >= kLocatorSize + kEnd64Size && read32(file, end - kLocatorSize) == kLocator64) {
    const uint64_t at = read64(file, end - kLocatorSize + 8);
    if (!fits(at, kEnd64Size, file.size()) || read32(file, at) != kEndOfDirectory64) return std::nullopt;
    found = {read64(file, at + 48), read64(file, at + 40), read64(file, at + 32)};
  }
  if (!fits(found.offset, found.size, end)) return std::nullopt;
  if (found.entries > found.size / kEntrySize) return std::nullopt;
  return found;
}

// Finds where the data starts; the local header repeats the name, which must agree.
const char* locateData(Bytes file, ZipRecord& record) {
  if (!fits(record.headerOffset, kHeaderSize, file.size())) return "lies outside the file";
  const uint64_t at = record.headerOffset;
  if (read32(file, at) != kLocalHeader) return "has no local header";
  const uint64_t nameLength = read16(file, at + 26), extraLength = read16(file, at + 28);
  record.dataOffset = at + kHeaderSize + nameLength + extraLength;
  if (!fits(record.dataOffset, record.compressedSize, file.size())) return "reaches past the end of the file";
  const auto* name = reinterpret_cast<const char*>(file.data() + at + kHeaderSize);
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
  if (!fits(at, kEntrySize, stop) || read32(file, at) != kDirectoryEntry) return Bad("its directory is damaged");
  const uint64_t nameLength = read16(file, at + 28), extraLength = read16(file, at + 30),
                 commentLength = read16(file, at + 32);
  if (!fits(at + kEntrySize, nameLength + extraLength + commentLength, stop)) return Bad("its directory is damaged");
  ZipRecord record;
  record.name.assign(reinterpret_cast<const char*>(file.data() + at + kEntrySize), nameLength);
  // LibTorch's names end at a zero byte; the others would break the lines that show them.
  if (std::ranges::any_of(record.name, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    return Bad("the name of a record has a control character");
  const uint16_t flags = read16(file, at + 8), method = read16(file, at + 10);
  record.crc = read32(file, at + 16);
  Extent extent;
  if (!readExtent(file.data() + at, extent)) return Bad("record '" + record.name + "' has no zip64 sizes");
  record.compressedSize = extent.packed;
  record.size = extent.size;
  record.headerOffset = extent.header;
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
  at += kEntrySize + nameLength + extraLength + commentLength;
  return record;
}

}  // namespace

Result<std::shared_ptr<const Archive>> Archive::open(const std::shared_ptr<const MappedFile>& file) {
  const Bytes bytes = file->bytes();
  const auto end = findEndRecord(bytes);
  if (!end) return damaged(*file, "it has no end-of-central-directory record, so it looks truncated");
  const auto directory = readDirectory(bytes, *end);
  if (!directory) return damaged(*file, "its end record points outside the file");
  std::shared_ptr<Archive> archive(new Archive);  // NOLINT(modernize-make-shared): a private constructor
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

Result<std::shared_ptr<const Archive>> Archive::of(std::shared_ptr<const MappedFile> file,
                                                   std::vector<ZipRecord> records, std::string prefix) {
  std::shared_ptr<Archive> archive(new Archive);  // NOLINT(modernize-make-shared): a private constructor
  archive->file_ = std::move(file);
  archive->records_ = std::move(records);
  archive->prefix_ = std::move(prefix);
  if (const std::string problem = archive->sortRecords(); !problem.empty()) return damaged(*archive->file_, problem);
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
  const auto nameOf = [&](uint32_t i) -> const std::string& { return records_[i].name; };
  std::ranges::sort(byName_, {}, nameOf);
  const auto twin = std::ranges::adjacent_find(byName_, {}, nameOf);
  return twin == byName_.end() ? "" : "record '" + records_[*twin].name + "' is there twice";
}

const ZipRecord* Archive::find(std::string_view name) const {
  const auto found =
      std::ranges::lower_bound(byName_, name, {}, [&](uint32_t i) { return std::string_view(records_[i].name); });
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
  std::string out;
  const auto take = [&](std::span<const std::byte> piece) {
    out.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  };
  if (record.method == ZipMethod::Stored) {
    take(content);
  } else if (!inflateTo(content, record.size, take)) {
    return damaged(*file_, "record '" + record.name + "' does not unpack to its size");
  }
  return out;
}

}  // namespace normlens::formats
