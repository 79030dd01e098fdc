#include "core/formats/formats.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "core/base/library/own_library.h"
#include "core/formats/archive/archive_reader.h"
#include "core/formats/file/file_kind.h"
#include "core/formats/file/mapped_file.h"
#ifdef NORMLENS_ONNX
#include "core/formats/onnx/open.h"
#endif
#include "core/formats/pt2/file/container.h"
#include "core/formats/pt2/open.h"
#include "core/formats/torchscript/library/library.h"

namespace normlens::formats {
namespace {

// One format: its name, which content it is for, what such files are called, and how one is opened.
struct Format {
  std::string_view name;
  FileKind kind;
  std::array<std::string_view, 5> suffixes;  // as people name such files
  std::string_view alsoWrittenAs;            // the suffix of another format that such a model can be saved in
  Result<std::unique_ptr<Model>> (*open)(const std::filesystem::path& path, const Task& task, const OpenChoice& choice);
  Result<std::string> (*runtimeVersion)();
  std::vector<std::string> (*providers)();
};

constexpr std::array kFormats = {
    Format{"TorchScript",
           FileKind::Zip,
           {".pt", ".pth", ".ts", ".jit", ".torchscript"},
           "",
           torchscript::openByLibrary,
           torchVersion,
           [] { return std::vector<std::string>(); }},
    Format{"torch.export",
           FileKind::ExportedProgram,
           {".pt2"},
           pt2::kTorchScriptSuffix,
           [](const std::filesystem::path& path, const Task& task, const OpenChoice& choice) {
             return torchscript::openByDoor(pt2::kLibraryDoor, path, task, choice);
           },
           torchVersion,
           [] { return std::vector<std::string>(); }},
#ifdef NORMLENS_ONNX
    Format{"ONNX",
           FileKind::Onnx,
           {".onnx"},
           "",
           [](const std::filesystem::path& path, const Task& task, const OpenChoice& /*choice*/) {
             return onnx::openOnnx(path, task);
           },
           onnx::runtimeVersion,
           onnx::runtimeProviders},
#endif
};

// "TorchScript, torch.export or ONNX".
std::string readableFormats() {
  std::string names;
  for (size_t i = 0; i < kFormats.size(); ++i) {
    names += i == 0 ? "" : i + 1 == kFormats.size() ? " or " : ", ";
    names += kFormats[i].name;
  }
  return names;
}

// Returns the file's kind; which kind of zip a zip is, its directory shows.
FileKind kindOf(const std::shared_ptr<const MappedFile>& file) {
  const FileKind kind = detectKind(file->bytes());
  if (kind != FileKind::Zip) return kind;
  const auto archive = Archive::open(file);
  const bool isExport = archive && pt2::containerOf(**archive) != pt2::Container::None;
  return isExport ? FileKind::ExportedProgram : kind;
}

}  // namespace

Result<std::unique_ptr<Model>> openModel(const std::filesystem::path& path, const Task& task,
                                         const OpenChoice& choice) {
  FileKind kind = FileKind::Unknown;
  {
    ASSIGN_OR_RETURN(const auto file, MappedFile::open(path));
    kind = kindOf(file);
  }
  // Only an archive of torch.export may hold several.
  const bool hasNames = kind == FileKind::ExportedProgram;
  for (const Format& format : kFormats) {
    if (format.kind != kind) continue;
    if (!hasNames && !choice.model.empty() && !choice.isBeside)
      return fail(ErrorCode::Usage, path.string() + " holds one model, which has no name", "leave its name out");
    return format.open(path, task, choice);
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

Result<GpuCheck> checkGpu() { return torchscript::checkGpuByLibrary(); }

void loadRuntimes() {
  for (const Format& format : kFormats) static_cast<void>(format.runtimeVersion());
}

void loadTorch() { torchscript::loadLibrary(); }

bool suffixFits(const std::filesystem::path& model, const std::filesystem::path& out) {
  if (model.extension() == out.extension()) return true;
  if (!out.has_extension()) return false;  // no row has that, and each is filled up with empty ones
  const auto uses = [](const Format& format, const std::filesystem::path& path) {
    return std::ranges::find(format.suffixes, path.extension().string()) != format.suffixes.end();
  };
  return std::ranges::any_of(kFormats, [&](const Format& format) {
    return uses(format, model) && (uses(format, out) || out.extension() == format.alsoWrittenAs);
  });
}

}  // namespace normlens::formats
