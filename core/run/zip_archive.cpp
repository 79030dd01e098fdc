#include "core/run/zip_archive.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace normlens::run {
namespace {

constexpr uint32_t kLocalMagic = 0x04034b50, kDirectoryMagic = 0x02014b50, kEndMagic = 0x06054b50;
constexpr uint32_t kEnd64Magic = 0x06064b50, kLocator64Magic = 0x07064b50;
constexpr uint64_t kLocalBytes = 30, kDirectoryBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocatorBytes = 20;
constexpr uint64_t kMax32 = std::numeric_limits<uint32_t>::max();
constexpr uint16_t kEncrypted = 1;

tl::unexpected<Error> damaged(std::string what) { return fail(ErrorCode::Unreadable, std::move(what)); }

// Little-endian reads inside checked bounds: the caller has made sure that offset + width fits.
template <class T>
T readAt(std::span<const std::byte> file, uint64_t offset) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(value | (static_cast<T>(std::to_integer<uint8_t>(file[offset + i])) << (8 * i)));
  }
  return value;
}

bool fits(std::span<const std::byte> file, uint64_t offset, uint64_t bytes) {
  return offset <= file.size() && bytes <= file.size() - offset;
}

std::string textAt(std::span<const std::byte> file, uint64_t offset, uint64_t bytes) {
  const auto* text = reinterpret_cast<const char*>(file.data() + offset);
  return {text, text + bytes};
}

struct Directory {
  uint64_t offset = 0, entries = 0;
};

// The end record lies within the last 64 KiB: it may be followed by a comment.
std::optional<uint64_t> findEnd(std::span<const std::byte> file) {
  if (file.size() < kEndBytes) return std::nullopt;
  const uint64_t last = file.size() - kEndBytes;
  const uint64_t first = last > 0xffff ? last - 0xffff : 0;
  for (uint64_t at = last + 1; at-- > first;) {
    if (readAt<uint32_t>(file, at) == kEndMagic) return at;
  }
  return std::nullopt;
}

Result<Directory> findDirectory(std::span<const std::byte> file) {
  const auto end = findEnd(file);
  if (!end) return damaged("it is not a zip file, or its end is missing");
  Directory directory{readAt<uint32_t>(file, *end + 16), readAt<uint16_t>(file, *end + 10)};
  // What lies in front of it is a locator only if a field is full; it may be the end of a name.
  const bool full =
      directory.offset == kMax32 || directory.entries == 0xffff || readAt<uint32_t>(file, *end + 12) == kMax32;
  if (!full || *end < kLocatorBytes || readAt<uint32_t>(file, *end - kLocatorBytes) != kLocator64Magic)
    return directory;
  const auto at = readAt<uint64_t>(file, *end - kLocatorBytes + 8);
  if (!fits(file, at, kEnd64Bytes) || readAt<uint32_t>(file, at) != kEnd64Magic) {
    return damaged("its zip directory is damaged");
  }
  return Directory{readAt<uint64_t>(file, at + 48), readAt<uint64_t>(file, at + 32)};
}

// Sizes beyond 32 bits stand in the extra field with id 1, in this order, each only where its 32-bit field is full.
Status readExtra64(std::span<const std::byte> extra, ZipEntry& entry) {
  const bool needed = entry.bytes == kMax32 || entry.packedBytes == kMax32 || entry.headerOffset == kMax32;
  if (!needed) return {};
  for (uint64_t at = 0; at + 4 <= extra.size();) {
    const auto id = readAt<uint16_t>(extra, at);
    const uint64_t size = readAt<uint16_t>(extra, at + 2);
    if (!fits(extra, at + 4, size)) break;
    const auto field = extra.subspan(at + 4, size);
    if (id == 1) {
      uint64_t used = 0;
      for (uint64_t* value : {&entry.bytes, &entry.packedBytes, &entry.headerOffset}) {
        if (*value != kMax32) continue;
        if (!fits(field, used, 8)) return damaged("its zip directory is damaged");
        *value = readAt<uint64_t>(field, used);
        used += 8;
      }
      return {};
    }
    at += 4 + size;
  }
  return damaged("its zip directory is damaged");
}

Result<std::span<const std::byte>> packedBytes(std::span<const std::byte> file, const ZipEntry& entry) {
  const auto cut = [&] { return damaged("its entry '" + entry.name + "' is cut off"); };
  if (!fits(file, entry.headerOffset, kLocalBytes)) return cut();
  if (readAt<uint32_t>(file, entry.headerOffset) != kLocalMagic) {
    return damaged("its entry '" + entry.name + "' is not where the directory says");
  }
  const uint64_t start = entry.headerOffset + kLocalBytes + readAt<uint16_t>(file, entry.headerOffset + 26) +
                         readAt<uint16_t>(file, entry.headerOffset + 28);
  if (!fits(file, start, entry.packedBytes)) return cut();
  return file.subspan(start, entry.packedBytes);
}

Result<std::vector<std::byte>> inflateRaw(std::span<const std::byte> packed, const ZipEntry& entry) {
  // Deflate cannot pack better than 1032 to 1: a larger claim is a lie and is refused before it is allocated.
  if (entry.bytes / 1032 > packed.size() + 1)
    return damaged("its entry '" + entry.name + "' claims an impossible size");
  std::vector<std::byte> bytes(entry.bytes);
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return fail(ErrorCode::Internal, "zlib could not start");
  constexpr uint64_t kStep = uint64_t{1} << 30;  // zlib counts in 32 bits
  uint64_t in = 0, out = 0;
  int status = Z_OK;
  std::byte nothing{};  // zlib wants a place to write even for an empty entry
  while (status == Z_OK) {
    const auto inStep = static_cast<uInt>(std::min(kStep, packed.size() - in));
    const auto outStep = static_cast<uInt>(std::min(kStep, bytes.size() - out));
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed.data() + in));
    stream.avail_in = inStep;
    stream.next_out = reinterpret_cast<Bytef*>(bytes.empty() ? &nothing : bytes.data() + out);
    stream.avail_out = outStep;
    status = inflate(&stream, Z_NO_FLUSH);
    const bool stuck = stream.avail_in == inStep && stream.avail_out == outStep;
    in += inStep - stream.avail_in;
    out += outStep - stream.avail_out;
    if (status == Z_OK && stuck) break;
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END || out != bytes.size()) return damaged("its entry '" + entry.name + "' is damaged");
  return bytes;
}

uint32_t checksum(std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(
      crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

template <class T>
void append(std::vector<std::byte>& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<std::byte>(value >> (8 * i)));
}

void appendText(std::vector<std::byte>& out, const std::string& text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  out.insert(out.end(), bytes, bytes + text.size());
}

// What local and directory records have in common: version, flags, method, time, date, checksum, sizes, name length.
void appendRecord(std::vector<std::byte>& out, uint32_t crc, uint64_t bytes, const std::string& name) {
  constexpr uint16_t kVersion = 20, kNoTime = 0,
                     kFirstDate = (1 << 5) | 1;  // 1 January 1980: files do not differ by clock
  append<uint16_t>(out, kVersion);
  append<uint16_t>(out, 0);
  append<uint16_t>(out, 0);
  append<uint16_t>(out, kNoTime);
  append<uint16_t>(out, kFirstDate);
  append<uint32_t>(out, crc);
  append<uint32_t>(out, static_cast<uint32_t>(bytes));
  append<uint32_t>(out, static_cast<uint32_t>(bytes));
  append<uint16_t>(out, static_cast<uint16_t>(name.size()));
  append<uint16_t>(out, 0);
}

}  // namespace

Result<std::vector<ZipEntry>> listZip(std::span<const std::byte> file) {
  const auto directory = findDirectory(file);
  if (!directory) return tl::unexpected(directory.error());
  std::vector<ZipEntry> entries;
  uint64_t at = directory->offset;
  for (uint64_t i = 0; i < directory->entries; ++i) {
    if (!fits(file, at, kDirectoryBytes) || readAt<uint32_t>(file, at) != kDirectoryMagic) {
      return damaged("its zip directory is damaged");
    }
    const uint64_t nameBytes = readAt<uint16_t>(file, at + 28), extraBytes = readAt<uint16_t>(file, at + 30),
                   commentBytes = readAt<uint16_t>(file, at + 32);
    if (!fits(file, at + kDirectoryBytes, nameBytes + extraBytes + commentBytes)) {
      return damaged("its zip directory is damaged");
    }
    ZipEntry entry{.name = textAt(file, at + kDirectoryBytes, nameBytes),
                   .method = readAt<uint16_t>(file, at + 10),
                   .flags = readAt<uint16_t>(file, at + 8),
                   .crc = readAt<uint32_t>(file, at + 16),
                   .packedBytes = readAt<uint32_t>(file, at + 20),
                   .bytes = readAt<uint32_t>(file, at + 24),
                   .headerOffset = readAt<uint32_t>(file, at + 42)};
    const Status extra = readExtra64(file.subspan(at + kDirectoryBytes + nameBytes, extraBytes), entry);
    if (!extra) return tl::unexpected(extra.error());
    entries.push_back(std::move(entry));
    at += kDirectoryBytes + nameBytes + extraBytes + commentBytes;
  }
  return entries;
}

Result<std::vector<std::byte>> unpackZipEntry(std::span<const std::byte> file, const ZipEntry& entry) {
  if (entry.flags & kEncrypted) return damaged("its entry '" + entry.name + "' is encrypted");
  const auto packed = packedBytes(file, entry);
  if (!packed) return tl::unexpected(packed.error());
  std::vector<std::byte> bytes;
  if (entry.method == 0) {
    if (entry.bytes != entry.packedBytes) return damaged("its entry '" + entry.name + "' is damaged");
    bytes.assign(packed->begin(), packed->end());
  } else if (entry.method == 8) {
    auto inflated = inflateRaw(*packed, entry);
    if (!inflated) return inflated;
    bytes = std::move(*inflated);
  } else {
    return damaged("its entry '" + entry.name + "' is packed by a method that is not supported");
  }
  if (checksum(bytes) != entry.crc) return damaged("its entry '" + entry.name + "' is damaged (checksum)");
  return bytes;
}

Status ZipWriter::add(const std::string& name, std::span<const std::byte> bytes) {
  if (file_.size() + bytes.size() + name.size() + kLocalBytes > kMax32 - 1 || entries_ == 0xfffe ||
      name.size() > 0xffff) {
    return fail(ErrorCode::WriteFailed, "the arrays are too large for one .npz file");
  }
  const uint64_t offset = file_.size();
  const uint32_t crc = checksum(bytes);
  append(file_, kLocalMagic);
  appendRecord(file_, crc, bytes.size(), name);
  appendText(file_, name);
  file_.insert(file_.end(), bytes.begin(), bytes.end());

  append(directory_, kDirectoryMagic);
  append<uint16_t>(directory_, 20);  // made by
  appendRecord(directory_, crc, bytes.size(), name);
  append<uint16_t>(directory_, 0);  // comment
  append<uint16_t>(directory_, 0);  // disk
  append<uint16_t>(directory_, 0);  // attributes, inside and outside
  append<uint32_t>(directory_, 0);
  append(directory_, static_cast<uint32_t>(offset));
  appendText(directory_, name);
  ++entries_;
  return {};
}

std::vector<std::byte> ZipWriter::finish() && {
  const auto offset = static_cast<uint32_t>(file_.size());
  file_.insert(file_.end(), directory_.begin(), directory_.end());
  append(file_, kEndMagic);
  append<uint32_t>(file_, 0);  // disks
  append(file_, entries_);
  append(file_, entries_);
  append(file_, static_cast<uint32_t>(directory_.size()));
  append(file_, offset);
  append<uint16_t>(file_, 0);
  return std::move(file_);
}

}  // namespace normlens::run
