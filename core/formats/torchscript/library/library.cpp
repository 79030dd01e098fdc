#include "core/formats/torchscript/library/library.h"

#include <torch/version.h>

#include <mutex>

#include "core/base/library/own_library.h"

namespace normlens::formats::torchscript {
namespace {

Result<const LibraryDoor*> loaded() {
  static std::once_flag once;
  static Result<const LibraryDoor*> door;
  std::call_once(once, [] {
    const auto symbol = symbolOfOwnLibrary("libnormlens_torchscript.so", kLibraryDoor);
    using Ask = const LibraryDoor* (*)();
    door = symbol.map([](void* ask) { return reinterpret_cast<Ask>(ask)(); });
  });
  return door;
}

}  // namespace

Result<std::unique_ptr<Model>> openByLibrary(const std::filesystem::path& path, const Task& task, bool strict) {
  return loaded().and_then([&](const LibraryDoor* door) { return door->open(path, task, strict); });
}

std::string torchVersion() { return TORCH_VERSION; }

std::filesystem::path torchFolder() { return NORMLENS_TORCH_FOLDER; }

}  // namespace normlens::formats::torchscript
