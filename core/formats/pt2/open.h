// The torch.export format's doors. No torch here.
#pragma once

#include <filesystem>
#include <memory>

#include "core/formats/model.h"
#include "core/formats/open_choice.h"

namespace normlens::formats::pt2 {

// Errors: as openModel().
[[nodiscard]] Result<std::unique_ptr<Model>> openPt2(const std::filesystem::path& path, const Task& task,
                                                     const OpenChoice& choice = {});

// Saved under such a name, a model becomes TorchScript: the translated program, which is what runs and is proved.
inline constexpr const char* kTorchScriptSuffix = ".pt";

// Names what the library of LibTorch exports for this format.
inline constexpr const char* kLibraryDoor = "normlensPt2";

}  // namespace normlens::formats::pt2
