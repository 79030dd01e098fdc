#include "core/base/library/own_library.h"

#include <dlfcn.h>

#include <filesystem>

namespace normlens {

Result<void*> symbolOfOwnLibrary(const char* library, const char* symbol) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  void* loaded = nullptr;
  for (const auto& place : {program.parent_path() / "lib" / library, program / library}) {
    if (loaded == nullptr) loaded = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (void* found = loaded == nullptr ? nullptr : dlsym(loaded, symbol)) return found;
  const char* why = dlerror();
  return fail(ErrorCode::Internal, std::string("LibTorch cannot be loaded: ") + (why == nullptr ? library : why),
              "build or install NormLens again");
}

}  // namespace normlens
