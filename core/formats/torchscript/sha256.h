// SHA-256 of bytes in memory, by OpenSSL (which uses the processor's own instructions). No torch here.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace normlens::formats::torchscript {

// 64 lower-case hex digits.
[[nodiscard]] std::string sha256Hex(std::span<const std::byte> bytes);

}  // namespace normlens::formats::torchscript
