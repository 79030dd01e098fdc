// Hashes of files and of bytes in memory, as lower-case hex digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/formats/file/mapped_file.h"

namespace normlens::formats {

enum class HashKind : uint8_t {
  Xxh3,    // XXH3-128, 32 digits: tells files apart as fast as memory is read; no seal, another file can be made to fit
  Sha256,  // 64 digits, by OpenSSL (which uses the processor's own instructions)
};

[[nodiscard]] std::string sha256Hex(std::span<const std::byte> bytes);
// Hashes whole files one after another, read in pieces; empty when one cannot be read, or when goOn, which is called
// before each piece (nullptr: never) and may wait, returns false.
[[nodiscard]] std::string hashHex(HashKind kind, std::span<const std::shared_ptr<const MappedFile>> files,
                                  const std::function<bool()>& goOn);
[[nodiscard]] std::string hashHex(HashKind kind, const MappedFile& file, const std::function<bool()>& goOn);

}  // namespace normlens::formats
