#include "core/base/library/own_library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <new>
#include <span>
#include <vector>

namespace normlens {

namespace fs = std::filesystem;

namespace {

// This holds what went wrong in loadAhead(); empty where nothing did.
std::string& errorAhead() {
  static std::string error;
  return error;
}

}  // namespace

void loadAhead(const char* name) {
  if (dlopen(name, RTLD_LAZY | RTLD_LOCAL) == nullptr && errorAhead().empty()) errorAhead() = loaderError();
}

std::optional<fs::path> ownLibrary(const char* name) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path lib = program.parent_path() / "lib";
  for (const fs::path& folder : {lib, program, lib / "normlens"}) {
    if (fs::exists(folder / name, error)) return folder / name;
  }
  return std::nullopt;
}

std::string loaderError() {
  const char* said = dlerror();
  return said == nullptr ? "the loader gives no reason" : said;
}

std::string loaderFolders() {
  void* const program = dlopen(nullptr, RTLD_LAZY);
  Dl_serinfo size{};
  if (program == nullptr || dlinfo(program, RTLD_DI_SERINFOSIZE, &size) != 0) return "the system's folders";
  std::vector<std::max_align_t> room(size.dls_size / sizeof(std::max_align_t) + 1);
  auto* const found = new (room.data()) Dl_serinfo(size);
  if (dlinfo(program, RTLD_DI_SERINFO, found) != 0) return "the system's folders";
  std::string all;
  for (const Dl_serpath& path : std::span(&found->dls_serpath[0], found->dls_cnt)) {
    all += (all.empty() ? "" : ", ") + std::string(path.dls_name);
  }
  return all;
}

Result<void*> loadOwnLibrary(const char* name, bool global) {
  const auto failed = [&](const std::string& why) {
    return fail(ErrorCode::Internal, std::string(name) + " cannot be loaded: " + why,
                "if LibTorch was moved, name its folder lib in LD_LIBRARY_PATH; else build or install NormLens again");
  };
  const auto place = ownLibrary(name);
  if (std::error_code error; !fs::exists("/proc/self/exe", error))
    return fail(ErrorCode::Internal, "the program cannot find its libraries: there is no /proc", "mount /proc");
  if (!place) return failed("it is neither beside the program nor in the folder lib next to it");
  if (void* loaded = dlopen(place->c_str(), RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL))) return loaded;
  std::string why = loaderError();  // before the next call of the loader
  if (!errorAhead().empty()) why = errorAhead();
  return failed(why + "; the loader looked in " + loaderFolders());
}

Result<void*> symbolOfOwnLibrary(const char* library, const char* symbol) {
  const auto loaded = loadOwnLibrary(library);
  if (!loaded) return loaded;
  if (void* found = dlsym(*loaded, symbol)) return found;
  return fail(ErrorCode::Internal, loaderError(), "build or install NormLens again");
}

}  // namespace normlens
