#include "core/formats/archive/zip_layout.h"

namespace normlens::formats::zip {

bool readExtent(const std::byte* entry, Extent& extent) {
  extent = {read<uint32_t>(entry + 24), read<uint32_t>(entry + 20), read<uint32_t>(entry + 42)};
  const bool wanted = extent.size == kIn64 || extent.packed == kIn64 || extent.header == kIn64;
  const std::byte* at = entry + kEntrySize + read<uint16_t>(entry + 28);
  const std::byte* end = at + read<uint16_t>(entry + 30);
  while (end - at >= 4) {
    const auto id = read<uint16_t>(at);
    const auto length = read<uint16_t>(at + 2);
    at += 4;
    if (end - at < length) break;
    if (id != kZip64Field) {
      at += length;
      continue;
    }
    const std::byte* stop = at + length;
    for (uint64_t* field : {&extent.size, &extent.packed, &extent.header}) {
      if (*field != kIn64) continue;
      if (stop - at < 8) return false;
      *field = read<uint64_t>(at);
      at += 8;
    }
    return true;
  }
  return !wanted;
}

}  // namespace normlens::formats::zip
