// The archive again: the documents and records that have changed anew, all others byte for byte.
#include <algorithm>
#include <deque>

#include "core/base/parallel.h"
#include "core/formats/archive/archive_writer.h"
#include "core/formats/edit/bytes_to_write.h"
#include "core/formats/pt2/file/container.h"
#include "core/formats/pt2/file/legacy.h"
#include "core/formats/pt2/model/pt2_model.h"
#include "core/formats/pt2/open.h"

namespace normlens::formats::pt2 {
namespace {

std::span<const std::byte> bytesOf(const std::string& text) { return std::as_bytes(std::span(text)); }

std::span<const std::byte> bytesOf(const at::Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()};
}

// Written to since it was opened, its content may still be what its directory had then.
Status unchanged(const Archive& archive) {
  if (archive.file().untouched()) return {};
  if (archive.file().asLong() && checkCrcs(archive, hardwareThreads())) return {};
  return changedSinceOpened(archive.file().path());
}

// Extra files are of all models of the archive: what is written of another stays.
std::string conditionsIn(const Archive& archive, const std::string& name, const std::string& model,
                         const std::string& conditions) {
  if (modelsIn(archive).size() < 2) return conditions;
  const std::string before = extraFile(archive, name), added = model + ": " + conditions;
  if (before.empty() || before.find(added) != std::string::npos) return before.empty() ? added : before;
  return before + "; " + added;
}

class Records {
 public:
  explicit Records(const Program& program) : archive_(*program.archive) {}

  // In the place of one of that name, else at the end.
  void put(const std::string& name, std::span<const std::byte> bytes) {
    put_[std::string(archive_.prefix()) + name] = bytes;
  }
  void put(const std::string& name, std::string text) { put(name, bytesOf(texts_.emplace_back(std::move(text)))); }

  [[nodiscard]] std::vector<RecordToWrite> all() {
    std::vector<RecordToWrite> records;
    for (const ZipRecord& record : archive_.records()) {
      const auto found = put_.find(record.name);
      if (found == put_.end()) {
        records.push_back({record.name, record.method, record.size, {archive_.stored(record)}, record.crc});
      } else {
        records.push_back(stored(record.name, found->second));
        put_.erase(found);
      }
    }
    // The first record's folder is the archive's: what is new is below it.
    for (const auto& [name, bytes] : put_) records.push_back(stored(name, bytes));
    return records;
  }

 private:
  static RecordToWrite stored(const std::string& name, std::span<const std::byte> bytes) {
    return {name, ZipMethod::Stored, bytes.size(), {bytes}, std::nullopt};
  }

  const Archive& archive_;
  std::map<std::string, std::span<const std::byte>> put_;
  std::deque<std::string> texts_;
};

}  // namespace

Status Pt2Model::saveAsTorchScript(const std::filesystem::path& path, const Task& task) const {
  if (const Status same = unchanged(*program_->archive); !same) return same;
  torchscript::ModuleSource source = inner_->source();
  source.archive = nullptr;  // nothing of its records belongs into another container
  auto model = torchscript::TorchScriptModel::fromModule(std::move(source), facts_);
  if (!model) return tl::unexpected(model.error());
  (*model)->annotate(history_);
  return (*model)->save(path, task);
}

Status Pt2Model::save(const std::filesystem::path& path, const Task& task) const {
  if (inner_->facts().dtype != program_->dtype)
    return fail(ErrorCode::Unsupported, "a copy in another element type cannot be written as a torch.export archive");
  if (path.extension() == kTorchScriptSuffix) return saveAsTorchScript(path, task);
  task.report("writing the file");
  Records records(*program_);
  const ProgramFile& file = program_->file;
  if (program_->isRepacked) {
    for (const auto& [name, content] : kContainerRecords) records.put(std::string(name), std::string(content));
  }
  if (!program_->isAsInFile || program_->isRepacked) {
    records.put(programRecord(file.name), file.program.dump());
    if (!file.weights.isNull()) records.put(weightsRecord(file.name), file.weights.dump());
    if (!file.constants.isNull()) records.put(constantsRecord(file.name), file.constants.dump());
  }
  for (const auto& [name, tensor] : program_->written) records.put(name, bytesOf(tensor));
  if (const auto told = history_.find("normlens.holds_if"); told != history_.end())
    records.put("extra/" + told->first, conditionsIn(*program_->archive, told->first, file.name, told->second));
  const auto& pending = inner_->source().pending;
  const BytesToWrite bytes(pending, {program_->archive->sharedFile()});
  const ArchiveSources sources{[&](auto part) { return bytes.makerOf(part); },
                               [&] { return unchanged(*program_->archive); }};
  return writeArchive(path, records.all(), sources, task);
}

}  // namespace normlens::formats::pt2
