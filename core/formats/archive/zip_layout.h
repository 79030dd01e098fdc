// Signatures, sizes and fields of the zip format (PKWARE APPNOTE 4.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace normlens::formats::zip {

inline constexpr uint32_t kLocalHeader = 0x04034b50, kDirectoryEntry = 0x02014b50, kDescriptor = 0x08074b50;
inline constexpr uint32_t kEndOfDirectory = 0x06054b50, kEndOfDirectory64 = 0x06064b50, kLocator64 = 0x07064b50;
inline constexpr size_t kHeaderSize = 30, kEntrySize = 46, kEndSize = 22, kEnd64Size = 56, kLocatorSize = 20;
inline constexpr uint16_t kZip64Field = 1;      // id of the extra field with 64-bit sizes
inline constexpr uint32_t kIn64 = 0xffffffffU;  // a 32-bit value that is in the zip64 field

template <class T>
[[nodiscard]] T read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

// Holds where and how large a record is.
struct Extent {
  uint64_t size = 0;    // The content's.
  uint64_t packed = 0;  // as it lies in the file
  uint64_t header = 0;  // offset of its local header
};
// A directory entry's, whose fixed fields, name and extra fields are all there. What does not fit in 32 bits is in
// the zip64 field, in this order. False: that is wanted and not there.
[[nodiscard]] bool readExtent(const std::byte* entry, Extent& extent);

}  // namespace normlens::formats::zip
