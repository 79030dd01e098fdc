#include "core/formats/torchscript/library/library.h"

#include <torch/version.h>

#include "core/base/library/own_library.h"

namespace normlens::formats::torchscript {
Result<std::unique_ptr<Model>> openByDoor(const char* door, const std::filesystem::path& path, const Task& task,
                                          const OpenChoice& choice) {
  const auto symbol = symbolOfOwnLibrary("libnormlens_torchscript.so", door);
  if (!symbol) return tl::unexpected(symbol.error());
  using Ask = const LibraryDoor* (*)();
  return reinterpret_cast<Ask>(*symbol)()->open(path, task, choice);
}

Result<std::unique_ptr<Model>> openByLibrary(const std::filesystem::path& path, const Task& task,
                                             const OpenChoice& choice) {
  return openByDoor(kLibraryDoor, path, task, choice);
}

std::string torchVersion() { return TORCH_VERSION; }

std::filesystem::path torchFolder() { return NORMLENS_TORCH_FOLDER; }

}  // namespace normlens::formats::torchscript
