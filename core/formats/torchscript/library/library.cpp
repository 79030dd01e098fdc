#include "core/formats/torchscript/library/library.h"

#include "core/base/library/own_library.h"

namespace normlens::formats::torchscript {
Result<std::unique_ptr<Model>> openByDoor(const char* door, const std::filesystem::path& path, const Task& task,
                                          const OpenChoice& choice) {
  ASSIGN_OR_RETURN(const auto symbol, symbolOfOwnLibrary(kTorchScriptLibrary, door));
  using Ask = const LibraryDoor* (*)();
  return reinterpret_cast<Ask>(symbol)()->open(path, task, choice);
}

Result<std::unique_ptr<Model>> openByLibrary(const std::filesystem::path& path, const Task& task,
                                             const OpenChoice& choice) {
  return openByDoor(kLibraryDoor, path, task, choice);
}

void loadLibrary() { static_cast<void>(symbolOfOwnLibrary(kTorchScriptLibrary, kLibraryDoor)); }

Result<GpuCheck> checkGpuByLibrary() {
  ASSIGN_OR_RETURN(const auto symbol, symbolOfOwnLibrary(kTorchScriptLibrary, kGpuDoor));
  return reinterpret_cast<const GpuDoor* (*)()>(symbol)()->check();
}

}  // namespace normlens::formats::torchscript
