// The TorchScript format's door: all that formats.cpp sees of it. No torch here.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/formats/model.h"

namespace normlens::formats::torchscript {

// Errors: Unreadable or Unsupported, see openCheckedArchive and loadModule. `strict`: see openModel.
[[nodiscard]] Result<std::unique_ptr<Model>> openTorchScript(const std::filesystem::path& path, const Task& task,
                                                             bool strict);

// Of the LibTorch that this engine was built with: "2.15.0+cu132".
[[nodiscard]] std::string torchVersion();

}  // namespace normlens::formats::torchscript
