#include "core/formats/formats.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "core/formats/file/file_kind.h"
#include "core/formats/file/mapped_file.h"
#ifdef NORMLENS_ONNX
#include "core/formats/onnx/read/open.h"
#endif
#include "core/formats/torchscript/library/library.h"

namespace normlens::formats {
namespace {

// One format: its name, which content it is for, what such files are called, and how one is opened.
struct Format {
  std::string_view name;
  FileKind kind;
  std::array<std::string_view, 5> suffixes;  // as people name such files
  Result<std::unique_ptr<Model>> (*open)(const std::filesystem::path& path, const Task& task, bool strict);
  std::string (*runtimeVersion)();
  std::vector<std::string> (*providers)();
};

constexpr std::array kFormats = {
    Format{"TorchScript",
           FileKind::Zip,
           {".pt", ".pth", ".ts", ".jit", ".torchscript"},
           torchscript::openByLibrary,
           torchscript::torchVersion,
           [] { return std::vector<std::string>(); }},
#ifdef NORMLENS_ONNX
    Format{
        "ONNX",
        FileKind::Onnx,
        {".onnx"},
        [](const std::filesystem::path& path, const Task& task, bool /*strict*/) { return onnx::openOnnx(path, task); },
        onnx::runtimeVersion,
        onnx::runtimeProviders},
#endif
};

// "TorchScript or ONNX".
std::string readableFormats() {
  std::string names;
  for (const Format& format : kFormats) names += (names.empty() ? "" : " or ") + std::string(format.name);
  return names;
}

}  // namespace

Result<std::unique_ptr<Model>> openModel(const std::filesystem::path& path, const Task& task, bool strict) {
  FileKind kind = FileKind::Unknown;
  {
    const auto file = MappedFile::open(path);
    if (!file) return tl::unexpected(file.error());
    kind = detectKind((*file)->bytes());
  }
  for (const Format& format : kFormats) {
    if (format.kind == kind) return format.open(path, task, strict);
  }
  return tl::unexpected(notReadable(path, kind, readableFormats()));
}

std::vector<FormatInfo> formats() {
  std::vector<FormatInfo> all;
  for (const Format& format : kFormats) {
    all.push_back({std::string(format.name), format.runtimeVersion(), format.providers()});
  }
  return all;
}

std::vector<std::filesystem::path> runtimeFolders() { return {torchscript::torchFolder()}; }

bool suffixFits(const std::filesystem::path& model, const std::filesystem::path& out) {
  if (model.extension() == out.extension()) return true;
  const auto uses = [](const Format& format, const std::filesystem::path& path) {
    return std::ranges::find(format.suffixes, path.extension().string()) != format.suffixes.end();
  };
  return std::ranges::any_of(kFormats, [&](const Format& format) { return uses(format, model) && uses(format, out); });
}

}  // namespace normlens::formats
