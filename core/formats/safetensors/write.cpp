#include "core/formats/safetensors/write.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>

#include "core/base/files.h"
#include "core/base/printable.h"
#include "core/formats/edit/bytes_to_write.h"
#include "core/formats/file/atomic_file.h"

namespace normlens::formats::safetensors {
namespace {

namespace fs = std::filesystem;
using pt2::Json;

constexpr size_t kMostConfigBytes = size_t{64} << 20;

tl::unexpected<Error> folderError(const fs::path& folder, int error) {
  const std::string name = printable(folder.string());
  if (error == ENOTEMPTY)
    return fail(ErrorCode::WriteFailed, "the folder " + name + " is not empty",
                "choose another one, or empty it first");
  if (error == ENOTDIR) return fail(ErrorCode::WriteFailed, name + " is no folder", "choose another name");
  return fail(ErrorCode::WriteFailed, "the folder " + name + " cannot be made: " + std::strerror(error),
              "choose another folder");
}

Result<Json> readJson(const fs::path& path) {
  const auto text = files::readSmall(path, kMostConfigBytes);
  if (!text)
    return fail(ErrorCode::Unreadable, printable(path.string() + " cannot be read: " + std::strerror(text.error())));
  auto json = pt2::parseJson(*text);
  if (json && json->isObject()) return json;
  return fail(ErrorCode::Unreadable,
              printable(path.string() + " cannot be used: " + (json ? "it is no JSON object" : json.error().message)));
}

// What a file of the new folder holds: pieces of it, which outlive their writing.
struct NewFile {
  std::string name;
  uint64_t size = 0;
  std::vector<FilePiece> pieces;
  std::string text;  // of one that is made here; what header the pieces begin with, of weights
  std::shared_ptr<const MappedFile> source{};
};

class Writer {
 public:
  Writer(const Checkpoint& checkpoint, const CheckpointEdits& edits)
      : checkpoint_(checkpoint), edits_(edits), bytes_(edits.versions->pending(), filesOf(checkpoint)) {}

  Result<WrittenCheckpoint> run(const fs::path& folder, const std::string& recipe, const Task& task) {
    for (size_t shard = 0; shard < checkpoint_.shards.size(); ++shard) addShard(shard);
    if (auto status = addIndex(); !status) return tl::unexpected(status.error());
    for (const std::string& name : checkpoint_.others) {
      if (name == kRecipeName) continue;  // of an earlier fold
      if (auto status = name == kConfigName && edits_.untied ? addConfig() : addCopy(name); !status)
        return tl::unexpected(status.error());
    }
    addText(kRecipeName, recipe);
    for (const NewFile& file : files_) written_.bytes += file.size;
    written_.files = files_.size();
    const fs::path target = folder.has_filename() ? folder : folder.parent_path();
    if (auto status = checkSpace(target, written_.bytes); !status) return tl::unexpected(status.error());
    return writeAll(target, task).map([&] { return written_; });
  }

 private:
  static OpenedFiles filesOf(const Checkpoint& checkpoint) {
    OpenedFiles files;
    for (const Shard& shard : checkpoint.shards) files.push_back(shard.file);
    return files;
  }

  [[nodiscard]] FilePiece pieceOf(uint64_t offset, std::span<const std::byte> bytes) const {
    return {offset, bytes, bytes_.makerOf(bytes), {}};
  }

  void addShard(size_t index) {
    const Shard& shard = checkpoint_.shards[index];
    const auto all = shard.file->bytes();
    Header header = shard.header;
    uint64_t end = all.size();
    std::map<size_t, const NewTensor*> edited;
    std::vector<const NewTensor*> added;
    for (const NewTensor& tensor : edits_.tensors) {
      if (tensor.place.shard != index) continue;
      if (!tensor.added) {
        edited.emplace(tensor.place.tensor, &tensor);
        continue;
      }
      const uint64_t before = header.dataBegin;
      header = withTensor(std::move(header), end, shard.header.tensors[tensor.place.tensor], tensor.name);
      end = end - before + header.tensors.back().end - header.tensors.back().begin + header.dataBegin;
      added.push_back(&tensor);
    }
    NewFile& file = files_.emplace_back();
    file.name = shard.name;
    file.size = end;
    file.source = shard.file;
    file.text = headerBytes(header);
    // The header's text moves with the file: its piece is made when it is written.
    for (size_t t = 0; t < shard.header.tensors.size(); ++t) {
      const Tensor& tensor = shard.header.tensors[t];
      const auto found = edited.find(t);
      const auto bytes =
          found == edited.end() ? all.subspan(tensor.begin, tensor.end - tensor.begin) : bytesOf(*found->second);
      addPiece(file, header.tensors[t].begin, bytes, found == edited.end());
    }
    for (size_t i = 0; i < added.size(); ++i)
      addPiece(file, header.tensors[shard.header.tensors.size() + i].begin, bytesOf(*added[i]), false);
  }

  // Neighbours that stay as they are become one piece.
  void addPiece(NewFile& file, uint64_t offset, std::span<const std::byte> bytes, bool kept) const {
    if (bytes.empty()) return;
    if (kept && !file.pieces.empty()) {
      FilePiece& last = file.pieces.back();
      const bool goesOn =
          last.bytes.data() + last.bytes.size() == bytes.data() && last.offset + last.bytes.size() == offset;
      const bool ofTheSource = file.source->offsetOf(last.bytes).has_value();
      if (goesOn && ofTheSource) {
        last = pieceOf(last.offset, {last.bytes.data(), last.bytes.size() + bytes.size()});
        return;
      }
    }
    file.pieces.push_back(pieceOf(offset, bytes));
  }

  static std::span<const std::byte> bytesOf(const NewTensor& tensor) {
    return {tensor.view.data, static_cast<size_t>(graph::byteCount(tensor.view))};
  }

  [[nodiscard]] Status addIndex() {
    if (!checkpoint_.index) return {};
    Json index = *checkpoint_.index;
    int64_t more = 0;
    for (const NewTensor& tensor : edits_.tensors) {
      if (!tensor.added) continue;
      index.at("weight_map").set(tensor.name, checkpoint_.shards[tensor.place.shard].name);
      more += graph::byteCount(tensor.view);
    }
    if (more == 0) return addCopy(checkpoint_.indexName);
    Json* const metadata = index.find("metadata");
    Json* const total = metadata == nullptr ? nullptr : metadata->find("total_size");
    constexpr double kMostBytes = 1e15;  // beyond that it is no count of bytes
    if (total != nullptr && total->isNumber() && std::abs(total->real()) < kMostBytes)
      *total = Json(static_cast<int64_t>(total->real()) + more);
    addText(checkpoint_.indexName, index.dumpIndented() + "\n");
    return {};
  }

  // Of a model of several parts each has a configuration of its own.
  [[nodiscard]] Status addConfig() {
    auto config = readJson(checkpoint_.folder / kConfigName);
    if (!config) return tl::unexpected(config.error());
    for (auto& [name, value] : config->members()) {
      if (value.isObject() && value.find(kTieKey) != nullptr) value.set(kTieKey, Json(false));
    }
    config->set(kTieKey, Json(false));
    addText(kConfigName, config->dumpIndented() + "\n");
    written_.configChanged = true;
    return {};
  }

  [[nodiscard]] Status addCopy(const std::string& name) {
    const auto path = checkpoint_.folder / name;
    std::error_code error;
    if (fs::file_size(path, error) == 0 && !error) {
      addText(name, "");
      return {};
    }
    auto source = MappedFile::open(path);
    if (!source) return tl::unexpected(source.error());
    NewFile& file = files_.emplace_back();
    file.name = name;
    file.size = (*source)->bytes().size();
    file.source = *source;
    file.pieces.push_back({0,
                           (*source)->bytes(),
                           [from = *source](uint64_t at, std::span<std::byte> out) -> Status {
                             if (from->readAt(at, out)) return {};
                             return changedSinceOpened(from->path());
                           },
                           {}});
    return {};
  }

  void addText(const std::string& name, std::string text) {
    NewFile& file = files_.emplace_back();
    file.name = name;
    file.size = text.size();
    file.text = std::move(text);
  }

  [[nodiscard]] Status writeAll(const fs::path& target, const Task& task) {
    auto folder = files::NewFolder::create(target);
    if (!folder) return folderError(target, folder.error());
    for (NewFile& file : files_) {
      if (auto status = write(file, folder->within(file.name), task); !status) return status;
      if (file.source && !file.source->untouched()) return changedSinceOpened(file.source->path());
    }
    if (const int error = folder->name(); error != 0) return folderError(target, error);
    return {};
  }

  [[nodiscard]] static Status write(NewFile& file, const fs::path& path, const Task& task) {
    auto out = AtomicFile::create(path, file.size);
    if (!out) return tl::unexpected(out.error());
    if (!file.text.empty()) file.pieces.insert(file.pieces.begin(), {0, std::as_bytes(std::span(file.text)), {}, {}});
    if (auto status = out->writeAll(file.pieces, task); !status) return status;
    return out->commitNew();
  }

  const Checkpoint& checkpoint_;
  const CheckpointEdits& edits_;
  BytesToWrite bytes_;
  std::vector<NewFile> files_;
  WrittenCheckpoint written_;
};

}  // namespace

bool mayTie(const Checkpoint& checkpoint) {
  const auto& others = checkpoint.others;
  if (std::ranges::find(others, kConfigName) == others.end()) return false;
  const auto config = readJson(checkpoint.folder / kConfigName);
  if (!config) return false;
  const Json* const tie = config->find(kTieKey);
  return tie == nullptr || !tie->isBool() || tie->boolean();
}

Result<WrittenCheckpoint> writeCheckpoint(const Checkpoint& checkpoint, const CheckpointEdits& edits,
                                          const fs::path& folder, const std::string& recipe, const Task& task) {
  return Writer(checkpoint, edits).run(folder, recipe, task);
}

}  // namespace normlens::formats::safetensors
