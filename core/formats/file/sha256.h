// SHA-256 of bytes in memory, by OpenSSL (which uses the processor's own instructions).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/formats/file/mapped_file.h"

namespace normlens::formats {

// 64 lower-case hex digits.
[[nodiscard]] std::string sha256Hex(std::span<const std::byte> bytes);
// Hashes whole files one after another, read in pieces; empty when one cannot be read, or when goOn, which is called
// before each piece (nullptr: never) and may wait, returns false.
[[nodiscard]] std::string sha256Hex(std::span<const std::shared_ptr<const MappedFile>> files,
                                    const std::function<bool()>& goOn);
[[nodiscard]] std::string sha256Hex(const MappedFile& file, const std::function<bool()>& goOn);

}  // namespace normlens::formats
