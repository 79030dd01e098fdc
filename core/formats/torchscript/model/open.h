// The TorchScript format's door. No torch here.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/formats/model.h"

namespace normlens::formats::torchscript {

// Errors: Unreadable or Unsupported, see openCheckedArchive and loadModule. `strict`: see OpenChoice.
[[nodiscard]] Result<std::unique_ptr<Model>> openTorchScript(const std::filesystem::path& path, const Task& task,
                                                             bool strict);

}  // namespace normlens::formats::torchscript
