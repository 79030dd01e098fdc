// OnnxModel::save: the files of a SaveLayout. A crash at any point leaves the older model with its data, or the new one
// with its own: data files get names that nothing has, are complete on the disk before the model gets its name, and
// what the older model alone needed goes last.
#include <algorithm>
#include <map>
#include <string>

#include "core/base/files.h"
#include "core/base/plain_error.h"
#include "core/formats/edit/bytes_to_write.h"
#include "core/formats/file/atomic_file.h"
#include "core/formats/file/sha256.h"
#include "core/formats/onnx/read/onnx_model.h"
#include "core/formats/onnx/save/save_layout.h"
#include "core/formats/onnx/save/superseded_data.h"

namespace normlens::formats::onnx {
namespace {

using History = std::map<std::string, std::string>;  // of Model::annotate

Result<AtomicFile> written(const FileContents& contents, const BytesToWrite& bytes, const History& history,
                           const Task& task) {
  auto file = AtomicFile::takeUp(contents.path, contents.size);
  if (!file) return file;
  auto pieces = contents.pieces;
  for (FilePiece& piece : pieces) piece.make = bytes.makerOf(piece.bytes);
  const auto digest = [&] { return bytes.digestOf(pieces, history); };
  if (auto status = file->writeAll(pieces, task, digest); !status) return tl::unexpected(std::move(status.error()));
  return file;
}

// New data files, gone again where the model that needs them does not come to be.
class NewDataFiles {
 public:
  NewDataFiles() = default;
  ~NewDataFiles() {
    for (const auto& path : named_) static_cast<void>(files::remove(path));
  }
  NewDataFiles(const NewDataFiles&) = delete;
  NewDataFiles& operator=(const NewDataFiles&) = delete;

  Status name(AtomicFile& file, const std::filesystem::path& path) {
    if (auto status = file.commitNew(); !status) return status;
    named_.push_back(path);
    return {};
  }
  void keep() { named_.clear(); }

 private:
  std::vector<std::filesystem::path> named_;
};

// Weights lie where the files have them: what was written must be what was opened and proved.
Status unchanged(const OnnxSource& source) {
  const auto files = filesOf(source);
  const auto touched = std::ranges::find_if_not(files, &MappedFile::untouched);
  if (touched == files.end()) return {};
  const std::lock_guard lock(source.content->mutex);
  const std::string& opened = source.content->sha256;
  const bool comparable = !opened.empty() && std::ranges::all_of(files, &MappedFile::asLong);
  if (comparable && sha256Hex(files, nullptr) == opened) return {};
  return changedSinceOpened((*touched)->path());
}

Status writeAll(const SaveLayout& layout, const std::filesystem::path& path, const OnnxSource& source,
                const History& history, const Task& task) {
  const auto& contents = layout.files();
  uint64_t total = 0;
  for (const auto& one : contents) total += one.size - std::min(one.size, keptBytes(one.path));
  if (auto status = checkSpace(path, total); !status) return status;
  const BytesToWrite bytes(source.pending, filesOf(source));
  std::vector<AtomicFile> files;
  for (const auto& one : contents) {
    auto file = written(one, bytes, history, task);
    if (!file) return tl::unexpected(std::move(file.error()));
    files.push_back(std::move(*file));
  }
  if (auto status = unchanged(source); !status) return status;
  const auto superseded = dataFilesOf(path, layout.wanted());
  NewDataFiles data;
  for (size_t i = 0; i + 1 < files.size(); ++i) {
    if (auto status = data.name(files[i], contents[i].path); !status) return status;
  }
  if (auto status = files.back().commit(); !status) return status;
  data.keep();
  removeUnneeded(superseded, path.parent_path(), source.path);
  return {};
}

}  // namespace

Status OnnxModel::save(const std::filesystem::path& path, const Task& task) const {
  task.report("writing the file");
  try {
    const auto layout = SaveLayout::make(source_, path, properties_);
    if (!layout) return tl::unexpected<Error>(layout.error());
    return writeAll(*layout, path, source_, properties_, task);
  } catch (const std::exception& error) {
    return fail(ErrorCode::WriteFailed, path.string() + " cannot be written: " + plainError(error));
  }
}

}  // namespace normlens::formats::onnx
