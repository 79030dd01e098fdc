#include "core/formats/onnx/source/onnx_source.h"

#include <algorithm>

namespace normlens::formats::onnx {

std::vector<std::shared_ptr<const MappedFile>> filesOf(const OnnxSource& source) {
  std::vector<std::shared_ptr<const MappedFile>> files;
  if (source.file) files.push_back(source.file);
  for (const auto& entry : source.dataFiles) {
    const auto& path = entry.second->path();
    const bool known = std::ranges::any_of(files, [&](const auto& file) { return file->path() == path; });
    if (!known) files.push_back(entry.second);
  }
  return files;
}

}  // namespace normlens::formats::onnx
