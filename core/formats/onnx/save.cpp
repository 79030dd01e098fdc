// OnnxModel::save: the files of a SaveLayout, all written before the first one gets its name.
#include "core/formats/file/atomic_file.h"
#include "core/formats/onnx/onnx_model.h"
#include "core/formats/onnx/save_layout.h"

namespace normlens::formats::onnx {

Status OnnxModel::save(const std::filesystem::path& path, const Task& task) const {
  task.report("writing the file");
  try {
    const auto layout = SaveLayout::make(source_, path, properties_);
    if (!layout) return tl::unexpected<Error>(layout.error());
    std::vector<AtomicFile> written;
    for (const auto& contents : layout->files()) {
      if (auto status = task.check(); !status) return status;
      auto file = AtomicFile::create(contents.path, contents.size);
      if (!file) return tl::unexpected<Error>(file.error());
      for (const auto& [offset, bytes] : contents.ranges) {
        if (auto status = file->writeAt(offset, bytes.data(), bytes.size()); !status) return status;
      }
      written.push_back(std::move(*file));
    }
    // The model last: what it names is there when it appears.
    for (auto& file : written) {
      if (auto status = file.commit(); !status) return status;
    }
    return {};
  } catch (const std::exception& error) {
    return fail(ErrorCode::WriteFailed, path.string() + " cannot be written: " + error.what());
  }
}

}  // namespace normlens::formats::onnx
