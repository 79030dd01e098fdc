#include "core/formats/torchscript/file/archive_check.h"

#include <algorithm>
#include <array>
#include <set>

#include "core/base/parallel.h"
#include "core/base/printable.h"
#include "core/formats/archive/pickle_scan.h"
#include "core/formats/file/file_kind.h"
#include "core/formats/torchscript/file/parser_limits.h"

namespace normlens::formats::torchscript {
namespace {

constexpr uint64_t kMaxPickle = uint64_t{1} << 30;    // a gigabyte of object structure
constexpr uint64_t kMaxUnpacked = uint64_t{2} << 30;  // of all compressed records together
constexpr uint64_t kMaxCode = uint64_t{64} << 20;

// As LibTorch sees a letter of a record's name.
constexpr char lowerCase(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

class ArchiveChecker {
 public:
  explicit ArchiveChecker(const Archive& archive)
      : archive_(archive), path_(archive.file().path().string()), prefix_(archive.prefix()) {}

  Status run() {
    for (auto check :
         {&ArchiveChecker::namesAreLibTorchs, &ArchiveChecker::isTorchScript, &ArchiveChecker::unpacksWithinBounds}) {
      if (auto status = (this->*check)(); !status) return status;
    }
    if (auto status = codeIsSane(); !status) return status;
    if (auto status = tensorsAreWhole("data.pkl", "data/"); !status) return status;
    if (auto status = tensorsAreWhole("constants.pkl", "constants/"); !status) return status;
    return checkCrcs(archive_, std::min(hardwareThreads(), 4),
                     [&](const ZipRecord& record) { return !holdsTensor(archive_, record); });
  }

 private:
  [[nodiscard]] const ZipRecord* find(const std::string& name) const { return archive_.find(prefix_ + name); }
  [[nodiscard]] bool hasFolder(const std::string& name) const {
    return std::ranges::any_of(archive_.records(),
                               [&](const ZipRecord& record) { return record.name.starts_with(prefix_ + name); });
  }
  [[nodiscard]] tl::unexpected<Error> damaged(const std::string& what) const {
    return fail(ErrorCode::Unreadable, path_ + " is a damaged TorchScript archive: " + printable(what),
                "copy or export the file again");
  }
  [[nodiscard]] tl::unexpected<Error> otherKind(const std::string& what) const {
    return fail(ErrorCode::Unsupported, path_ + " is " + printable(what) + ", not a TorchScript model", kExportHint);
  }

  // LibTorch finds M/DATA.PKL as m/data.pkl; the checks below do not.
  [[nodiscard]] Status namesAreLibTorchs() const {
    std::set<std::string> seen;
    for (const ZipRecord& record : archive_.records()) {
      std::string name = record.name;
      std::ranges::transform(name, name.begin(), lowerCase);
      if (!seen.insert(std::move(name)).second) return damaged("record '" + record.name + "' is there twice");
      if (isLibTorchsButForCase(record.name))
        return damaged("the record '" + record.name + "' differs by case from a name that LibTorch reads");
    }
    return {};
  }
  [[nodiscard]] bool isLibTorchsButForCase(std::string_view name) const {
    constexpr std::array<std::string_view, 6> kStarts = {"code/",    "data/",         "constants/",
                                                         "data.pkl", "constants.pkl", "model.json"};
    constexpr std::array<std::string_view, 2> kCode = {".py", ".debug_pkl"};
    const auto same = [](std::string_view part, std::string_view wanted) {
      return std::ranges::equal(part, wanted, {}, lowerCase, lowerCase);
    };
    const auto differs = [&](std::string_view part, std::string_view wanted) {
      return part != wanted && same(part, wanted);
    };
    const std::string_view folder = name.substr(0, prefix_.size());
    if (!same(folder, prefix_)) return false;
    const std::string_view rest = name.substr(prefix_.size());
    return folder != prefix_ ||
           std::ranges::any_of(kStarts, [&](auto start) { return differs(rest.substr(0, start.size()), start); }) ||
           (rest.starts_with("code/") && std::ranges::any_of(kCode, [&](std::string_view end) {
              return rest.size() > end.size() && differs(rest.substr(rest.size() - end.size()), end);
            }));
  }

  [[nodiscard]] Status isTorchScript() const {
    if (archive_.records().empty()) return otherKind("an empty zip archive");
    if (find(".data/extern_modules") != nullptr)
      return otherKind(hasFolder(".data/ts_code/") ? "a torch.package archive with TorchScript modules inside"
                                                   : "a torch.package archive");
    if (hasFolder("models/") || find("archive_format") != nullptr ||
        find("serialized_exported_program.json") != nullptr)
      return otherKind("a torch.export archive (.pt2)");
    const ZipRecord* data = find("data.pkl");
    const bool hasConstants = find("constants.pkl") != nullptr, hasCode = hasFolder("code/");
    if (data == nullptr) {
      if (hasCode || hasConstants) return damaged("the record data.pkl is missing");
      const bool isKeras = find("config.json") != nullptr && find("metadata.json") != nullptr;
      return otherKind(isKeras ? "a Keras model (.keras)" : "an ordinary zip archive");
    }
    if (!hasConstants && !hasCode) return isCheckpoint(*data);
    if (!hasCode) return damaged("it has no code/ folder, so there is no graph to read");
    if (!hasConstants) return damaged("the record constants.pkl is missing");
    if (find("version") == nullptr && find(".data/version") == nullptr) return damaged("the version record is missing");
    if (find("model.json") != nullptr) return otherKind("an archive with a model of PyTorch 1.3 or older");
    return {};
  }

  // Describes in the error what torch.save() wrote, by the classes that the pickle names.
  [[nodiscard]] Status isCheckpoint(const ZipRecord& data) const {
    const auto text = archive_.read(data, kMaxPickle);
    if (!text) return tl::unexpected(text.error());
    const auto scan = scanPickle(*text);
    if (!scan) return otherKind("a pickled checkpoint that is not looked into (" + scan.error().message + ")");
    for (const std::string& global : scan->globals) {
      const bool harmless = global.starts_with("torch._utils ") || global.starts_with("collections ") ||
                            (global.starts_with("torch ") && global.find("__torch__") == std::string::npos) ||
                            global.starts_with("torch.storage ") || global.starts_with("torch.serialization ") ||
                            global.starts_with("numpy") || global.starts_with("_codecs ");
      if (!harmless)
        return otherKind("a pickled Python object such as an nn.Module (it names '" +
                         global.substr(global.find(' ') + 1) +
                         "' and needs its Python code; NormLens never unpickles it)");
    }
    return otherKind(scan->rootIsDict ? "a pickled checkpoint or state_dict (weights without a graph)"
                                      : "a state_dict or another pickled checkpoint (weights without a graph)");
  }

  [[nodiscard]] Status unpacksWithinBounds() const {
    uint64_t total = 0;
    for (const ZipRecord& record : archive_.records()) {
      if (record.method == ZipMethod::Stored) continue;
      total += std::min(record.size, kMaxUnpacked + 1);
      if (total > kMaxUnpacked)
        return fail(ErrorCode::Unsupported,
                    path_ + " unpacks to more than 2 GiB from compressed records, like a zip bomb",
                    "store the archive's records without compression (torch.jit.save does)");
    }
    return {};
  }

  Status codeIsSane() {
    for (const ZipRecord& record : archive_.records()) {
      if (!record.name.starts_with(prefix_ + "code/")) continue;
      const auto code = archive_.read(record, kMaxCode);
      if (!code) return tl::unexpected(code.error());
      if (record.name.ends_with(".debug_pkl")) {
        const auto scan = scanPickle(*code, PickleUse::Load);
        if (!scan)
          return damaged("cannot parse the TorchScript code record '" + record.name + "': " + scan.error().message);
      }
      if (!record.name.ends_with(".py")) continue;
      if (code->find("Enum") != std::string::npos) pickles_ = PickleUse::LoadWithEnums;
      if (const char* problem = beyondLibTorchsParser(*code))
        return damaged("the code in '" + record.name + "' is " + problem);
    }
    return {};
  }

  // Each declared storage has a record with at least as many bytes.
  [[nodiscard]] Status tensorsAreWhole(const std::string& pickle, const std::string& folder) const {
    const auto text = archive_.read(*find(pickle), kMaxPickle);
    if (!text) return tl::unexpected(text.error());
    const auto scan = scanPickle(*text, pickles_);
    if (!scan) return damaged(pickle + ": " + scan.error().message);
    uint64_t whole = 0, read = 0;
    for (const ZipRecord& record : archive_.records()) whole += record.size;
    for (const DeclaredStorage& storage : scan->storages) {
      const ZipRecord* record = find(folder + storage.key);
      if (record == nullptr) return damaged("the tensor record '" + folder + storage.key + "' is missing");
      const int64_t bytes = storageElementBytes(storage.type);
      int64_t needed = 0;
      if (bytes == 0) return damaged("'" + folder + storage.key + "' has the unknown element type " + storage.type);
      if (__builtin_mul_overflow(bytes, storage.elements, &needed) || record->size < static_cast<uint64_t>(needed))
        return damaged("the tensor record '" + folder + storage.key + "' has " + std::to_string(record->size) +
                       " bytes, expected " + std::to_string(storage.elements) + " x " + std::to_string(bytes));
      // LibTorch reads a record as often as a pickle refers to it; its own refer once to each.
      constexpr uint64_t kMostReads = 4;
      uint64_t size = 0;
      if (__builtin_mul_overflow(record->size, storage.reads, &size) || size / kMostReads > whole ||
          (read += size) / kMostReads > whole)
        return damaged("the tensor record '" + folder + storage.key + "' is asked for again and again");
    }
    return {};
  }

  const Archive& archive_;
  std::string path_;
  std::string prefix_;
  PickleUse pickles_ = PickleUse::Load;
};

}  // namespace

bool holdsTensor(const Archive& archive, const ZipRecord& record) {
  const std::string_view name =
      std::string_view(record.name).substr(std::min(archive.prefix().size(), record.name.size()));
  return record.method == ZipMethod::Stored && (name.starts_with("data/") || name.starts_with("constants/"));
}

Result<std::shared_ptr<const Archive>> openCheckedArchive(const std::shared_ptr<const MappedFile>& file) {
  const FileKind kind = detectKind(file->bytes());
  if (kind != FileKind::Zip) return tl::unexpected(notReadable(file->path(), kind, "TorchScript"));
  auto archive = Archive::open(file);
  if (!archive) return archive;
  if (auto status = ArchiveChecker(**archive).run(); !status) return tl::unexpected(status.error());
  return archive;
}

}  // namespace normlens::formats::torchscript
