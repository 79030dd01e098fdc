// CRC-32 of the zip format, by the machine's carry-less multiplication where ISA-L is there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace normlens::formats {

// Continues `start` (0 at the beginning) over more bytes.
[[nodiscard]] uint32_t crcOf(uint32_t start, const std::byte* data, size_t size);

}  // namespace normlens::formats
