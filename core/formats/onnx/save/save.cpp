// Writes the files of a SaveLayout. A crash at any point leaves the older model with its data, or the new one
// with its own: data files get names that nothing has, are complete on the disk before the model gets its name, and
// what the older model alone needed goes last.
#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "core/base/files.h"
#include "core/base/plain_error.h"
#include "core/formats/edit/bytes_to_write.h"
#include "core/formats/file/atomic_file.h"
#include "core/formats/file/file_hash.h"
#include "core/formats/file/file_kind.h"
#include "core/formats/file/mapped_file.h"
#include "core/formats/onnx/read/split_weights.h"
#include "core/formats/onnx/save/save.h"
#include "core/formats/onnx/save/save_layout.h"
#include "core/formats/onnx/source/bodies.h"

namespace normlens::formats::onnx {
namespace {

namespace fs = std::filesystem;

// ---- the data files of a model that is about to be replaced, to be removed once it has been

// nullopt: these bytes are no model. No weight is touched.
std::optional<ModelProto> skeletonOf(Bytes model) {
  const auto split = splitWeights(model);
  ModelProto skeleton;
  return split && skeleton.ParseFromString(split->skeleton) ? std::optional(std::move(skeleton)) : std::nullopt;
}

// The locations of all external data, as they are written in the model.
std::set<std::string> locationsIn(ModelProto& skeleton) {
  std::set<std::string> locations;
  eachTensor(skeleton, [&](const TensorProto& tensor) {
    for (const auto& entry : tensor.external_data()) {
      if (entry.key() == "location") locations.insert(entry.value());
    }
  });
  return locations;
}

fs::path folderOf(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

// "out_data_2" without its "_2".
std::string unnumbered(const std::string& name) {
  const size_t end = name.find_last_not_of("0123456789");
  return end != std::string::npos && name[end] == '_' ? name.substr(0, end) : name;
}

// Adds all files that a model names; what is no model names none. False: a model, but it cannot be read.
bool addNeeded(const fs::path& model, std::vector<fs::path>& needed) {
  const auto file = MappedFile::open(model);
  const bool saysSo = model.extension() == ".onnx";
  if (!file) return !saysSo;
  if (!saysSo && detectKind((*file)->bytes()) != FileKind::Onnx) return true;
  auto skeleton = skeletonOf((*file)->bytes());
  if (!skeleton) return false;
  for (const std::string& location : locationsIn(*skeleton)) needed.push_back(folderOf(model) / location);
  return true;
}

// Lists what the models of a folder need, and the opened one; nullopt where one of them cannot be read.
std::optional<std::vector<fs::path>> neededBy(const fs::path& folder, const Descriptor& lock, const fs::path& opened) {
  std::vector<fs::path> needed;
  std::error_code error;
  const auto names = files::namesIn(lock);
  if (!names) return std::nullopt;
  for (const std::string& name : *names) {
    if (fs::is_regular_file(folder / name, error) && !addNeeded(folder / name, needed)) return std::nullopt;
  }
  // Not there: made in memory, or gone since, and with it what it needed.
  if (fs::exists(opened, error) && !addNeeded(opened, needed)) return std::nullopt;
  return needed;
}

// Files in the model's folder that it names, that are called as we call data of such a model ("out.onnx.data",
// "out.onnx_data", "out_data", or that with a number) or as the new one's would be (`wanted`). Empty where there is no
// model, or one that does not record that NormLens wrote it (see fold_history.h).
std::vector<fs::path> dataFilesOf(const fs::path& path, const std::set<std::string>& wanted) {
  std::vector<fs::path> files;
  const auto file = MappedFile::open(path);
  auto skeleton = file ? skeletonOf((*file)->bytes()) : std::nullopt;
  const bool isOurs = skeleton && std::ranges::any_of(skeleton->metadata_props(),
                                                      [](const auto& one) { return one.key() == "normlens.version"; });
  if (!isOurs) return files;
  const std::string out = path.filename().string(), stem = path.stem().string();
  for (const std::string& location : locationsIn(*skeleton)) {
    const std::string name = unnumbered(location);
    const bool own = name == out + ".data" || name == stem + "_data" || name.starts_with(out + "_data") ||
                     wanted.contains(location) || wanted.contains(name);
    const fs::path data = folderOf(path) / location;
    std::error_code error;
    if (own && fs::path(location).filename() == location &&
        fs::symlink_status(data, error).type() == fs::file_type::regular)
      files.push_back(data);
  }
  return files;
}

// Held from the look at the model that is replaced until its data is gone: the data of another that came in between
// would stay, and nothing would name it. Empty after ten seconds; then nothing is removed.
Descriptor lockedFolder(const fs::path& folder, const Task& task) {
  auto locked = files::lockedFolder(folder);
  for (int tries = 0; tries < 1000 && !locked && locked.error() == EWOULDBLOCK && task.check(); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    locked = files::lockedFolder(folder);
  }
  return locked ? std::move(*locked) : Descriptor();
}

// Removes those of `files` that no model in the folder needs any more, whatever it is called, nor the `opened` one,
// wherever it is. All files stay where a model there cannot be read, since it may need any; what cannot be removed
// stays too.
void removeUnneeded(const std::vector<fs::path>& files, const Descriptor& lock, const fs::path& opened) {
  if (files.empty()) return;
  const auto needed = neededBy(folderOf(files.front()), lock, opened);
  if (!needed) return;
  for (const fs::path& file : files) {
    std::error_code error;
    const auto isIt = [&](const fs::path& other) { return fs::equivalent(file, other, error); };
    if (std::ranges::none_of(*needed, isIt)) static_cast<void>(files::remove(file));
  }
}

// ---- the files of a layout

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
          ASSIGN_OR_RETURN(const auto known, late.wait(task));
          *filled = boost::algorithm::replace_all_copy(std::string(text), late.standIn, known);
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
  RETURN_IF_ERROR(file->writeAll(pieces, task));
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

  Status name(AtomicFile& file, const fs::path& path) {
    RETURN_IF_ERROR(file.commitNew());
    named_.push_back(path);
    return {};
  }
  void keep() { named_.clear(); }

 private:
  std::vector<fs::path> named_;
};

// Weights lie where the files have them: what was written must be what was opened and proved.
Status unchanged(const OnnxSource& source) {
  const auto files = filesOf(source);
  const auto touched = std::ranges::find_if_not(files, &MappedFile::untouched);
  if (touched == files.end()) return {};
  const std::lock_guard lock(source.content->mutex);
  const std::string& opened = source.content->sha256;
  const bool comparable = !opened.empty() && std::ranges::all_of(files, &MappedFile::asLong);
  if (comparable && hashHex(HashKind::Sha256, files, nullptr) == opened) return {};
  return changedSinceOpened((*touched)->path());
}

Status writeAll(const SaveLayout& layout, const fs::path& path, const OnnxSource& source, const LateText& late,
                const Task& task) {
  const auto& contents = layout.files();
  uint64_t total = 0;
  for (const auto& one : contents) total += one.size;
  RETURN_IF_ERROR(checkSpace(path, total));
  const BytesToWrite bytes(source.pending, filesOf(source));
  std::vector<AtomicFile> files;
  for (const auto& one : contents) {
    ASSIGN_OR_RETURN(auto file, written(one, bytes, layout.skeleton(), late, task));
    files.push_back(std::move(file));
  }
  RETURN_IF_ERROR(unchanged(source));
  const Descriptor lock = lockedFolder(folderOf(path), task);
  const auto superseded = lock ? dataFilesOf(path, layout.wanted()) : std::vector<fs::path>();
  NewDataFiles data;
  for (size_t i = 0; i + 1 < files.size(); ++i) {
    RETURN_IF_ERROR(data.name(files[i], contents[i].path));
  }
  RETURN_IF_ERROR(files.back().commit());
  data.keep();
  removeUnneeded(superseded, lock, source.path);
  return {};
}

}  // namespace

Status saveModel(const OnnxSource& source, const fs::path& path, const std::map<std::string, std::string>& properties,
                 const LateText& late, const Task& task) {
  task.report("writing the file");
  try {
    const auto layout = SaveLayout::make(source, path, properties);
    if (!layout) return tl::unexpected<Error>(layout.error());
    return writeAll(*layout, path, source, late, task);
  } catch (const std::exception& error) {
    return fail(ErrorCode::WriteFailed, path.string() + " cannot be written: " + plainError(error));
  }
}

}  // namespace normlens::formats::onnx
