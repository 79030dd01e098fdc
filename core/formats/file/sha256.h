// SHA-256 of bytes in memory, by OpenSSL (which uses the processor's own instructions).
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/formats/file/mapped_file.h"

namespace normlens::formats {

// 64 lower-case hex digits.
[[nodiscard]] std::string sha256Hex(std::span<const std::byte> bytes);
// Of a whole file, read in pieces; empty when it cannot be read.
[[nodiscard]] std::string sha256Hex(const MappedFile& file);

}  // namespace normlens::formats
