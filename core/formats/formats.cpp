#include "core/formats/formats.h"

#include <array>

#include "core/formats/torchscript/file_kind.h"
#include "core/formats/torchscript/archive_reader.h"
#include "core/formats/torchscript/open.h"

namespace normlens::formats {
namespace {

using torchscript::FileKind;

// One format: which content it is for, and how such a file is opened.
struct Format {
  FileKind kind;
  Result<std::unique_ptr<Model>> (*open)(const std::filesystem::path& path, const Task& task);
};

constexpr std::array<Format, 1> kFormats = {{
    {FileKind::Zip, torchscript::openTorchScript},
}};

}  // namespace

Result<std::unique_ptr<Model>> openModel(const std::filesystem::path& path, const Task& task) {
  FileKind kind = FileKind::Unknown;
  {
    const auto file = torchscript::MappedFile::open(path);
    if (!file) return tl::unexpected(file.error());
    kind = torchscript::detectKind((*file)->bytes());
  }
  for (const Format& format : kFormats) {
    if (format.kind == kind) return format.open(path, task);
  }
  return tl::unexpected(torchscript::notTorchScript(path, kind));
}

}  // namespace normlens::formats
