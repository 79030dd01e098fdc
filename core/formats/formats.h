// Opening a file: finds the format by its content and hands the work to it. One table row per format (formats.cpp).
#pragma once

#include <filesystem>
#include <memory>

#include "core/formats/model.h"

namespace normlens::formats {

// Errors: Unreadable or Unsupported with one plain sentence that names what the file is and what to do instead.
[[nodiscard]] Result<std::unique_ptr<Model>> openModel(const std::filesystem::path& path, const Task& task);

}  // namespace normlens::formats
