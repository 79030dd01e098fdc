#include "core/base/library/own_library.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <boost/algorithm/string/join.hpp>
#include <cstddef>
#include <map>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/library/runtime_library.h"

namespace normlens {

namespace fs = std::filesystem;

namespace {

std::array<fs::path, 3> ownFolders() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path lib = program.parent_path() / "lib";
  return {lib, program, lib / "normlens"};
}

// {2, 15} of "2.15.0+cu132"; zeros where it is no version.
std::pair<int, int> minorOf(const std::string& version) {
  std::pair<int, int> minor{};
  std::sscanf(version.c_str(), "%d.%d", &minor.first, &minor.second);  // NOLINT(cert-err34-c): zeros are no version
  return minor;
}

std::string nameOf(const std::pair<int, int>& minor) {
  return std::to_string(minor.first) + "." + std::to_string(minor.second);
}

// "libnormlens_lab-2.15.so" of "libnormlens_lab.so".
std::string nameFor(std::string name, const std::string& minor) { return name.insert(name.rfind(".so"), "-" + minor); }

// The versions of LibTorch that this NormLens is built for, oldest first.
std::vector<std::string> builtFor() {
  const std::string name = kTorchScriptLibrary, begin = name.substr(0, name.rfind(".so")) + "-";
  std::map<std::pair<int, int>, std::string> found;
  for (const fs::path& folder : ownFolders()) {
    std::error_code error;
    for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator(); at.increment(error)) {
      const std::string file = at->path().filename().string();
      if (!file.starts_with(begin)) continue;
      const auto minor = minorOf(file.substr(begin.size()));
      found[minor] = nameOf(minor);
    }
  }
  std::vector<std::string> names;
  for (const auto& [minor, text] : found) names.push_back(text);
  return names;
}

tl::unexpected<Error> incomplete(const std::string& name) {
  return fail(ErrorCode::Internal,
              name + " cannot be loaded: it is neither beside the program nor in the folder lib next to it",
              "build or install NormLens again");
}

// Returns the version that NormLens is built for and that suits the LibTorch that was found: "2.15".
const Result<std::string>& torchMinor() {
  static const Result<std::string> minor = []() -> Result<std::string> {
    ASSIGN_OR_RETURN(const RuntimeLibrary torch, torchLibrary());
    const std::vector<std::string> built = builtFor();
    if (built.empty()) return incomplete(kTorchScriptLibrary);
    if (torch.version.empty()) return built.back();
    for (const std::string& each : built) {
      if (each == nameOf(minorOf(torch.version))) return each;
    }
    return fail(ErrorCode::Unsupported,
                "LibTorch " + torch.version + " was found in " + torch.path.parent_path().string() +
                    ", and this NormLens is built for LibTorch " + boost::algorithm::join(built, ", "),
                "install torch " + built.back() + ", or name its folder lib in NORMLENS_TORCH");
  }();
  return minor;
}

}  // namespace

std::optional<fs::path> ownLibrary(const char* name) {
  std::error_code error;
  for (const fs::path& folder : ownFolders()) {
    if (torchMinor() && fs::exists(folder / nameFor(name, *torchMinor()), error)) {
      return folder / nameFor(name, *torchMinor());
    }
    if (fs::exists(folder / name, error)) return folder / name;
  }
  return std::nullopt;
}

Result<std::string> torchVersion() {
  ASSIGN_OR_RETURN(const std::string minor, torchMinor());
  return torchLibrary()->version.empty() ? minor : torchLibrary()->version;
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
  if (std::error_code error; !fs::exists("/proc/self/exe", error))
    return fail(ErrorCode::Internal, "the program cannot find its libraries: there is no /proc", "mount /proc");
  ASSIGN_OR_RETURN(const RuntimeLibrary torch, torchLibrary());
  const auto place = ownLibrary(name);
  if (!place) {
    RETURN_IF_ERROR(torchMinor());
    return incomplete(name);
  }
  // Those that it needs are then taken from there, wherever else the loader would look.
  void* loaded = dlopen((torch.path.parent_path() / "libtorch_cpu.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded != nullptr) loaded = dlopen(place->c_str(), RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
  if (loaded != nullptr) return loaded;
  return fail(ErrorCode::Internal, place->filename().string() + " cannot be loaded: " + loaderError(),
              "install torch again, or name its folder lib in NORMLENS_TORCH");
}

Result<void*> symbolOfOwnLibrary(const char* library, const char* symbol) {
  const auto loaded = loadOwnLibrary(library);
  if (!loaded) return loaded;
  if (void* found = dlsym(*loaded, symbol)) return found;
  return fail(ErrorCode::Internal, loaderError(), "build or install NormLens again");
}

}  // namespace normlens
