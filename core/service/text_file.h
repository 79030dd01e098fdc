// Writes a requested text to a file: complete, or not there. Thread: any.
#pragma once

#include <filesystem>
#include <string>

#include "core/base/result.h"

namespace normlens::service {

// An older file of that name is replaced. Errors: WriteFailed.
[[nodiscard]] Status writeText(const std::filesystem::path& path, const std::string& text);

}  // namespace normlens::service
