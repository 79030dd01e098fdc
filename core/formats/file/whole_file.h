// A small file written at once: complete, or not there. Thread: any.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "core/base/result.h"

namespace normlens::formats {

// An older file of that name is replaced. Errors: WriteFailed.
[[nodiscard]] Status writeWhole(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace normlens::formats
