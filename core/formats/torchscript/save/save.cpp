// Saving: torch's own serializer, with its stream captured instead of copied and summed.
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/export.h>

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_set>

#include "core/formats/archive/archive_capture.h"
#include "core/formats/archive/archive_writer.h"
#include "core/formats/archive/pickle_scan.h"
#include "core/formats/edit/bytes_to_write.h"
#include "core/formats/torchscript/program/error_text.h"
#include "core/formats/torchscript/program/file_devices.h"
#include "core/formats/torchscript/save/save.h"

namespace normlens::formats::torchscript {
namespace {

// The memory of all tensors that a module holds, as ranges.
class TensorMemory {
 public:
  explicit TensorMemory(const torch::jit::Module& module, const Program& program) {
    std::unordered_set<const c10::ivalue::Object*> seen;
    c10::IValue(module._ivalue()).visit([&](const c10::IValue& value) {
      if (value.isTensor()) add(value.toTensor());
      return value.isObject() && !seen.insert(&value.toObjectRef()).second;
    });
    for (const auto& constant : program.constants) add(constant.tensor);
  }

  [[nodiscard]] bool holds(const void* data, size_t size) const {
    auto next = ranges_.upper_bound(static_cast<const char*>(data));
    if (next == ranges_.begin()) return false;
    const auto& [start, length] = *--next;
    return static_cast<const char*>(data) + size <= start + length;
  }

 private:
  void add(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.has_storage() || tensor.device().type() != at::kCPU) return;
    const auto& storage = tensor.storage();
    if (storage.nbytes() > 0) ranges_[static_cast<const char*>(storage.data())] = storage.nbytes();
  }

  std::map<const char*, size_t> ranges_;
};

void serialize(const torch::jit::Module& module, const torch::jit::ExtraFilesMap& extraFiles,
               CapturedArchive& archive) {
  caffe2::serialize::PyTorchStreamWriter writer(
      [&](const void* data, size_t size) {
        archive.append(data, size);
        return size;
      },
      /*compute_crc32=*/false);
  torch::jit::ScriptModuleSerializer serializer(writer);
  serializer.serialize(module, extraFiles, /*bytecode_format=*/false, /*save_mobile_debug_info=*/false);
  writer.writeEndOfFile();
}

constexpr std::string_view kCapturedFolder = "archive/";

// The pickles, with their tensors on the device that the file's are on. `made` keeps what is new.
void keepDevices(std::vector<RecordToWrite>& records, const Archive& archive, std::deque<std::string>& made) {
  for (const char* pickle : {"data.pkl", "constants.pkl"}) {
    const std::string device = deviceOfTensors(archive, pickle);
    const auto record = std::ranges::find(records, std::string(kCapturedFolder) + pickle, &RecordToWrite::name);
    if (device == "cpu" || record == records.end() || record->method != ZipMethod::Stored) continue;
    std::string content;
    for (const auto& piece : record->bytes) content.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    const auto scan = scanPickle(content);
    if (!scan) continue;
    made.push_back(withDevice(content, *scan, device));
    record->size = made.back().size();
    record->bytes = {std::as_bytes(std::span(made.back()))};
    record->crc.reset();
  }
}

// The record as the opened file has it, raw.
RecordToWrite asInFile(const Archive& archive, const ZipRecord& record) {
  return {record.name, record.method, record.size, {archive.stored(record)}, record.crc};
}

// Written anew by the serializer, or made from what it writes: never taken from the opened file.
bool isMadeAnew(std::string_view name) {
  for (const std::string_view folder : {"code/", "data/", "constants/", ".data/", "bytecode/", "tensors/"}) {
    if (name.starts_with(folder)) return true;
  }
  for (const std::string_view file : {"data.pkl", "constants.pkl", "version", "byteorder", "bytecode.pkl", "model.json",
                                      "attributes.pkl", "mobile_debug_handles.pkl"}) {
    if (name == file) return true;
  }
  return name.starts_with(".format_version") || name.starts_with(".storage_alignment");
}

// Returns the CRC of a tensor that is as the file has it: checked when it was opened.
std::optional<uint32_t> knownCrc(const Archive& archive, const RecordToWrite& record) {
  if (record.crc || record.bytes.size() != 1) return record.crc;
  const auto offset = archive.file().offsetOf(record.bytes[0]);
  if (!offset) return std::nullopt;
  const auto original = std::ranges::find_if(archive.records(), [&](const ZipRecord& known) {
    return *offset == known.dataOffset && known.method == ZipMethod::Stored && known.size == record.size;
  });
  return original == archive.records().end() ? std::nullopt : std::optional(original->crc);
}

// Code that means the same is kept byte for byte, with its debug record; so is what the serializer knows nothing of.
std::vector<RecordToWrite> withOriginals(std::vector<RecordToWrite> records, const Archive* archive) {
  const std::string prefix(archive == nullptr || archive->prefix().empty() ? kCapturedFolder : archive->prefix());
  std::unordered_set<std::string> written, keptCode;
  for (auto& record : records) {
    const std::string name = record.name.substr(kCapturedFolder.size());
    record.name = prefix + name;
    written.insert(name);
    if (archive != nullptr) record.crc = knownCrc(*archive, record);
    if (archive == nullptr || !name.starts_with("code/") || !name.ends_with(".py")) continue;
    const auto* original = archive->find(record.name);
    if (original == nullptr || original->size != record.size) continue;
    record.crc = contentCrc(record);
    if (record.crc != original->crc) continue;
    keptCode.insert(record.name);
    record = asInFile(*archive, *original);
  }
  if (archive == nullptr) return records;
  for (auto& record : records) {
    const std::string_view suffix = ".debug_pkl";
    if (!record.name.ends_with(suffix)) continue;
    const auto* original = archive->find(record.name);
    const bool kept = keptCode.contains(record.name.substr(0, record.name.size() - suffix.size()));
    if (kept && original != nullptr) record = asInFile(*archive, *original);
  }
  for (const auto& original : archive->records()) {
    if (!original.name.starts_with(prefix) || original.name.ends_with('/')) continue;
    const std::string name = original.name.substr(prefix.size());
    if (!written.contains(name) && !isMadeAnew(name)) records.push_back(asInFile(*archive, original));
  }
  return records;
}

}  // namespace

Status saveModel(const LoweredModel& model, const std::filesystem::path& path, const Task& task) {
  const ModuleSource& source = model.source;
  try {
    task.report("writing the file");
    const TensorMemory memory(source.module, model.program);
    CapturedArchive archive([&](const void* data, size_t size) { return memory.holds(data, size); },
                            [&](const void* data, size_t) { return source.pending && source.pending->isAt(data); });
    {
      auto units = source.keptAlive;
      units.push_back(source.module._ivalue()->compilation_unit());
      const FileDevicesInCode devices(std::move(units));
      const fold::PendingWeights::AsZeros looked(source.pending);  // for a sign of the writer's own, at each start
      serialize(source.module, source.extraFiles, archive);
    }
    auto records = archive.records();
    if (!records) return tl::unexpected<Error>(records.error());
    std::deque<std::string> made;
    if (source.archive) keepDevices(*records, *source.archive, made);
    RETURN_IF_ERROR(task.check());
    const BytesToWrite bytes(source.pending, {source.archive ? source.archive->sharedFile() : nullptr});
    const ArchiveSources sources{[&](auto part) { return bytes.makerOf(part); },
                                 [&] { return source.archive ? checkUnchanged(*source.archive) : Status(); }};
    return writeArchive(path, withOriginals(std::move(*records), source.archive.get()), sources, task);
  } catch (const std::exception& error) {
    return fail(ErrorCode::WriteFailed, path.string() + " cannot be written: " + shortText(error));
  }
}

}  // namespace normlens::formats::torchscript
