// DEFLATE (RFC 1951), unpacked piece by piece by zlib. Thread: pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace normlens::formats {

// Hands each piece to `take`, in order. False: it does not unpack to exactly `size` bytes.
[[nodiscard]] bool inflateTo(std::span<const std::byte> packed, uint64_t size,
                             const std::function<void(std::span<const std::byte>)>& take);

}  // namespace normlens::formats
