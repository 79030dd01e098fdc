// The TorchScript format in a library of its own, which LibTorch comes with: 0.2 s and 110 MB that only a process pays
// which opens such a file. No torch here. Thread: any.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/formats/gpu_check.h"
#include "core/formats/model.h"
#include "core/formats/open_choice.h"

namespace normlens::formats::torchscript {

// Opens a model: the library exports it under the name kLibraryDoor.
struct LibraryDoor {
  Result<std::unique_ptr<Model>> (*open)(const std::filesystem::path& path, const Task& task, const OpenChoice& choice);
};
inline constexpr const char* kLibraryDoor = "normlensTorchScript";

// Opens a file by the door of this name that the library has for its format. Errors: Internal where there is none.
[[nodiscard]] Result<std::unique_ptr<Model>> openByDoor(const char* door, const std::filesystem::path& path,
                                                        const Task& task, const OpenChoice& choice);

// Loads the library, where it can be.
void loadLibrary();

// Checks a GPU: the library exports it under the name kGpuDoor.
struct GpuDoor {
  GpuCheck (*check)();
};
inline constexpr const char* kGpuDoor = "normlensGpu";

// checkGpu() of the library; Internal where there is none.
[[nodiscard]] Result<GpuCheck> checkGpuByLibrary();

// openTorchScript() of the library; Internal where there is none.
[[nodiscard]] Result<std::unique_ptr<Model>> openByLibrary(const std::filesystem::path& path, const Task& task,
                                                           const OpenChoice& choice);

}  // namespace normlens::formats::torchscript
