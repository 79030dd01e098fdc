// A small file written at once: complete, or not there. Thread: any.
#pragma once

#include <filesystem>
#include <string_view>

#include "core/base/result.h"

namespace normlens::formats {

// An older file of that name is replaced. Errors: WriteFailed.
[[nodiscard]] Status writeWhole(const std::filesystem::path& path, std::string_view bytes);

}  // namespace normlens::formats
