// CRC-32 of what a DEFLATEd record holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace normlens::formats {

// CRC of a DEFLATEd record's content, unpacked piece by piece. nullopt: it does not unpack to `size` bytes.
[[nodiscard]] std::optional<uint32_t> crcOfDeflated(std::span<const std::byte> packed, uint64_t size);

}  // namespace normlens::formats
