#include "core/base/library/runtime_library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/library/own_library.h"

namespace normlens {
namespace {

namespace fs = std::filesystem;

struct Wanted {
  std::string_view title;      // "ONNX Runtime"
  const char* variable;        // of the environment
  std::string_view file;       // what the name of its file begins with
  const char* loaderName;      // by which the loader looks for it
  std::string_view ownFolder;  // in lib/
  std::string_view packages;   // its folder among Python packages
  std::string_view install;    // what pip installs
};

// The first by name, so that the choice is the same each time.
std::optional<fs::path> libraryIn(const fs::path& folder, std::string_view file) {
  std::optional<fs::path> first;
  std::error_code error;
  fs::directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    if (!at->path().filename().string().starts_with(file)) continue;
    if (!first || at->path() < *first) first = at->path();
  }
  return first;
}

// Returns the folder of the Python packages among which the program is; empty where it is in none.
fs::path pythonPackages(const fs::path& programFolder) {
  const fs::path packages = programFolder.parent_path().parent_path();
  const std::string name = packages.filename().string();
  return name == "site-packages" || name == "dist-packages" ? packages : fs::path();
}

Result<RuntimeLibrary> load(const Wanted& wanted) {
  const std::string title(wanted.title), file(wanted.file), variable(wanted.variable);
  const Hint hint = "install " + std::string(wanted.install) +
                    " into the Python environment of NormLens, or name the folder of " + file + " in " + variable;
  const auto loaded = [&](const fs::path& path) -> Result<RuntimeLibrary> {
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return RuntimeLibrary{handle, path};
    return fail(ErrorCode::Unsupported, title + " cannot be loaded: " + loaderError(), hint);
  };
  if (const char* named = std::getenv(wanted.variable); named != nullptr && *named != '\0') {
    if (const auto path = libraryIn(named, wanted.file)) return loaded(*path);
    return fail(ErrorCode::Unsupported,
                title + " was not found: " + variable + " names " + named + ", where no " + file + " lies", hint);
  }
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path(), packages = pythonPackages(folder);
  if (const auto own = libraryIn(folder.parent_path() / "lib" / wanted.ownFolder, wanted.file)) return loaded(*own);
  if (!packages.empty()) {
    if (const auto path = libraryIn(packages / wanted.packages, wanted.file)) return loaded(*path);
  }
  if (void* handle = dlopen(wanted.loaderName, RTLD_NOW | RTLD_LOCAL)) {
    const link_map* map = nullptr;
    dlinfo(handle, RTLD_DI_LINKMAP, &map);
    return RuntimeLibrary{handle, map == nullptr ? wanted.loaderName : map->l_name};
  }
  const std::string why = loaderError();
  return fail(ErrorCode::Unsupported,
              title + " cannot be loaded: " + why + "; the loader looked in " + loaderFolders() +
                  (packages.empty() ? "" : ", and " + packages.string() + " has no package of it"),
              hint);
}

// The torch package has version.py beside its folder lib, an unpacked LibTorch has build-version.
std::string torchVersionBeside(const fs::path& lib) {
  std::string line;
  std::ifstream package(lib.parent_path() / "version.py");
  constexpr std::string_view kBegin = "__version__ = '";
  while (std::getline(package, line)) {
    if (line.starts_with(kBegin)) return line.substr(kBegin.size(), line.rfind('\'') - kBegin.size());
  }
  std::getline(std::ifstream(lib.parent_path() / "build-version"), line);
  return line;
}

}  // namespace

const Result<RuntimeLibrary>& onnxRuntimeLibrary() {
  static const Result<RuntimeLibrary> library = load({.title = "ONNX Runtime",
                                                      .variable = "NORMLENS_ONNXRUNTIME",
                                                      .file = "libonnxruntime.so",
                                                      .loaderName = "libonnxruntime.so.1",
                                                      .ownFolder = "onnxruntime",
                                                      .packages = "onnxruntime/capi",
                                                      .install = "onnxruntime 1.21 or newer"});
  return library;
}

const Result<RuntimeLibrary>& torchLibrary() {
  static const Result<RuntimeLibrary> library = [] {
    auto loaded = load({.title = "LibTorch",
                        .variable = "NORMLENS_TORCH",
                        .file = "libc10.so",
                        .loaderName = "libc10.so",
                        .ownFolder = "torch",
                        .packages = "torch/lib",
                        .install = "torch"});
    if (loaded) loaded->version = torchVersionBeside(loaded->path.parent_path());
    return loaded;
  }();
  return library;
}

}  // namespace normlens
