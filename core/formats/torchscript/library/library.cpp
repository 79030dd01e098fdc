#include "core/formats/torchscript/library/library.h"

#include <dlfcn.h>
#include <torch/version.h>

#include <mutex>

namespace normlens::formats::torchscript {
namespace {

Result<const LibraryDoor*> loaded() {
  static std::once_flag once;
  static Result<const LibraryDoor*> door;
  std::call_once(once, [] {
    const char* name = "libnormlens_torchscript.so";
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    void* library = nullptr;
    for (const auto& place : {program.parent_path() / "lib" / name, program / name}) {
      if (library == nullptr) library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    using Ask = const LibraryDoor* (*)();
    const auto ask = library == nullptr ? nullptr : reinterpret_cast<Ask>(dlsym(library, kLibraryDoor));
    if (ask != nullptr) {
      door = ask();
      return;
    }
    const char* why = dlerror();
    door = fail(ErrorCode::Internal, std::string("LibTorch cannot be loaded: ") + (why == nullptr ? name : why),
                "build or install NormLens again");
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
