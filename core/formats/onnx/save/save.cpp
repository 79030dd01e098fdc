// OnnxModel::save: the files of a SaveLayout. A crash at any point leaves the older model with its data, or the new one
// with its own: data files get names that nothing has, are complete on the disk before the model gets its name, and
// what the older model alone needed goes last.
#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>

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

bool isWithin(Bytes whole, Bytes part) {
  return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size();
}

// Makes bytes in memory that have the stand-in. The model's file ends with its metadata, so all else is written by
// then.
MakeBytes filledIn(Bytes bytes, const LateText& late, const Task& task) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!late.wait || text.find(late.standIn) == std::string_view::npos) return {};
  return
      [text, late, &task, filled = std::make_shared<std::string>()](uint64_t at, std::span<std::byte> out) -> Status {
        if (filled->empty()) {
          const auto known = late.wait(task);
          if (!known) return tl::unexpected(known.error());
          *filled = boost::algorithm::replace_all_copy(std::string(text), late.standIn, *known);
        }
        std::memcpy(out.data(), filled->data() + at, out.size());
        return {};
      };
}

Result<AtomicFile> written(const FileContents& contents, const BytesToWrite& bytes, Bytes skeleton,
                           const LateText& late, const Task& task) {
  auto file = AtomicFile::create(contents.path, contents.size);
  if (!file) return file;
  auto pieces = contents.pieces;
  for (FilePiece& piece : pieces) {
    piece.make = bytes.makerOf(piece.bytes);
    if (isWithin(skeleton, piece.bytes)) piece.make = filledIn(piece.bytes, late, task);
  }
  if (auto status = file->writeAll(pieces, task); !status) return tl::unexpected(std::move(status.error()));
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
                const LateText& late, const Task& task) {
  const auto& contents = layout.files();
  uint64_t total = 0;
  for (const auto& one : contents) total += one.size;
  if (auto status = checkSpace(path, total); !status) return status;
  const BytesToWrite bytes(source.pending, filesOf(source));
  std::vector<AtomicFile> files;
  for (const auto& one : contents) {
    auto file = written(one, bytes, layout.skeleton(), late, task);
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
    return writeAll(*layout, path, source_, late_, task);
  } catch (const std::exception& error) {
    return fail(ErrorCode::WriteFailed, path.string() + " cannot be written: " + plainError(error));
  }
}

}  // namespace normlens::formats::onnx
