// CRC-32 of the zip format, by the machine's carry-less multiplication where ISA-L is there. No torch here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace normlens::formats {

// Continues `start` (0 at the beginning) over more bytes.
[[nodiscard]] uint32_t crcOf(uint32_t start, const std::byte* data, size_t size);
// CRC of a DEFLATEd record's content, unpacked piece by piece. nullopt: it does not unpack to `size` bytes.
[[nodiscard]] std::optional<uint32_t> crcOfDeflated(std::span<const std::byte> packed, uint64_t size);

}  // namespace normlens::formats
