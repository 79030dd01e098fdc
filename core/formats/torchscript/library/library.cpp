#include "core/formats/torchscript/library/library.h"

#include <dlfcn.h>
#include <torch/version.h>

#include <mutex>

namespace normlens::formats::torchscript {
namespace {

void* library(std::string& why) {
  static std::once_flag once;
  static void* handle = nullptr;
  static std::string problem;
  std::call_once(once, [] {
    const char* name = "libnormlens_torchscript.so";
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    for (const auto& place : {program.parent_path() / "lib" / name, program / name}) {
      if (handle != nullptr) break;
      handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
      const char* said = handle == nullptr ? dlerror() : nullptr;
      if (said != nullptr) problem = said;
    }
  });
  why = problem;
  return handle;
}

void* librarySymbol(const char* name, std::string& why) {
  void* handle = library(why);
  return handle == nullptr ? nullptr : dlsym(handle, name);
}

}  // namespace

Result<std::unique_ptr<Model>> openByDoor(const char* door, const std::filesystem::path& path, const Task& task,
                                          bool strict) {
  using Ask = const LibraryDoor* (*)();
  std::string why = door;
  const auto ask = reinterpret_cast<Ask>(librarySymbol(door, why));
  if (ask == nullptr)
    return fail(ErrorCode::Internal, "LibTorch cannot be loaded: " + why, "build or install NormLens again");
  return ask()->open(path, task, strict);
}

Result<std::unique_ptr<Model>> openByLibrary(const std::filesystem::path& path, const Task& task, bool strict) {
  return openByDoor(kLibraryDoor, path, task, strict);
}

std::string torchVersion() { return TORCH_VERSION; }

std::filesystem::path torchFolder() { return NORMLENS_TORCH_FOLDER; }

}  // namespace normlens::formats::torchscript
