#include "core/formats/torchscript/program/loader.h"

#include <caffe2/serialize/read_adapter_interface.h>
#include <torch/csrc/jit/serialization/import.h>

#include <torch/script.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/base/run_watch.h"
#include "core/formats/archive/archive_reader.h"
#include "core/formats/torchscript/program/error_text.h"
#include "core/formats/torchscript/program/fast_norm.h"
#include "core/formats/torchscript/program/file_devices.h"
#include "core/formats/torchscript/program/forbidden_ops.h"

namespace normlens::formats::torchscript {
namespace {

// Tensors that stay in their file: torch's loader gets no bytes of large records, and the memory that it made for them
// becomes the file's own, mapped copy-on-write.
class MappedTensors {
 public:
  // The archive outlives this object; its file outlives the tensors.
  explicit MappedTensors(const Archive& archive);

  // Returns whether a read of the file into memory is left out.
  [[nodiscard]] bool leavesOut(uint64_t position, const void* buffer, size_t length);
  // False where the module does not hold all that was left out: it has to be loaded again, with everything read.
  [[nodiscard]] bool place(const torch::jit::Module& module) const;

 private:
  struct LeftOut {
    uint64_t position;
    const void* buffer;
    size_t length;
  };

  const Archive& archive_;
  std::unordered_map<uint64_t, size_t> records_;  // that may be left out: by position, their length
  std::vector<LeftOut> leftOut_;
};

constexpr uint64_t kWorthMapping = uint64_t{64} << 10;
constexpr uint64_t kAlignment = 64;  // as torch writes it, and its kernels want it

// Each piece of memory that tensors of the module look into.
std::vector<c10::StorageImpl*> storagesOf(const torch::jit::Module& module) {
  std::vector<c10::StorageImpl*> storages;
  std::unordered_set<const void*> seen;
  c10::IValue(module._ivalue()).visit([&](const c10::IValue& value) {
    if (value.isTensor() && value.toTensor().defined() && value.toTensor().has_storage()) {
      auto* storage = value.toTensor().storage().unsafeGetStorageImpl();
      if (seen.insert(storage).second) storages.push_back(storage);
    }
    return value.isObject() && !seen.insert(&value.toObjectRef()).second;
  });
  return storages;
}

MappedTensors::MappedTensors(const Archive& archive) : archive_(archive) {
  // Constants of the code are held by what is compiled when it is first run, too late for place().
  const std::string folder = std::string(archive.prefix()) + "data/";
  for (const ZipRecord& record : archive.records()) {
    const bool plain = record.method == ZipMethod::Stored && record.dataOffset % kAlignment == 0;
    if (plain && record.size >= kWorthMapping && record.name.starts_with(folder))
      records_.emplace(record.dataOffset, record.size);
  }
}

bool MappedTensors::leavesOut(uint64_t position, const void* buffer, size_t length) {
  const auto record = records_.find(position);
  if (record == records_.end() || record->second != length || archive_.file().copyOnWrite().empty()) return false;
  leftOut_.push_back({position, buffer, length});
  return true;
}

bool MappedTensors::place(const torch::jit::Module& module) const {
  std::unordered_map<const void*, const LeftOut*> byBuffer;
  for (const auto& left : leftOut_) {
    if (!byBuffer.emplace(left.buffer, &left).second) return false;  // that memory was given back, and out again
  }
  size_t placed = 0;
  for (c10::StorageImpl* storage : storagesOf(module)) {
    const auto left = byBuffer.find(storage->data());
    if (left == byBuffer.end()) continue;
    if (storage->nbytes() != left->second->length) return false;
    void* data = archive_.file().copyOnWrite().data() + left->second->position;
    const auto file = archive_.sharedFile();
    auto* owner = new std::shared_ptr<const MappedFile>(file);
    const auto release = [](void* held) { delete static_cast<std::shared_ptr<const MappedFile>*>(held); };
    storage->set_data_ptr_noswap(c10::DataPtr(data, owner, release, c10::DeviceType::CPU));
    ++placed;
  }
  return placed == leftOut_.size();
}

// Hands torch the very file that was checked, whatever its path names by now.
class MappedReader final : public caffe2::serialize::ReadAdapterInterface {
 public:
  // tensors: null where everything is to be read.
  MappedReader(std::shared_ptr<const Archive> archive, std::shared_ptr<MappedTensors> tensors)
      : archive_(std::move(archive)), tensors_(std::move(tensors)) {}
  [[nodiscard]] size_t size() const override { return archive_->bytes().size(); }
  size_t read(uint64_t position, void* buffer, size_t length, const char* /*what*/) const override {
    const auto bytes = archive_->bytes();
    if (position >= bytes.size()) return 0;
    const size_t count = std::min<size_t>(length, bytes.size() - position);
    if (tensors_ && tensors_->leavesOut(position, buffer, count)) return count;
    return archive_->file().readAt(position, {static_cast<std::byte*>(buffer), count}) ? count : 0;
  }

 private:
  std::shared_ptr<const Archive> archive_;
  std::shared_ptr<MappedTensors> tensors_;
};

// Names under "extra/" whose content is worth keeping in memory; larger ones stay in the archive.
torch::jit::ExtraFilesMap extraFilesOf(const Archive& archive) {
  constexpr uint64_t kMost = uint64_t{64} << 20;
  const std::string folder = std::string(archive.prefix()) + "extra/";
  torch::jit::ExtraFilesMap files;
  for (const ZipRecord& record : archive.records()) {
    if (record.name.starts_with(folder) && record.size <= kMost) files[record.name.substr(folder.size())] = "";
  }
  return files;
}

// The code record that has a __setstate__, which torch runs while it loads; empty: none has.
std::string runningRecord(const Archive& archive) {
  constexpr uint64_t kMost = uint64_t{64} << 20;
  for (const ZipRecord& record : archive.records()) {
    if (!record.name.ends_with(".py")) continue;
    const auto code = archive.read(record, kMost);
    if (!code || code->find("__setstate__") != std::string::npos) return record.name;
  }
  return {};
}

// A file folded with --norm fast needs our own operator, which is only looked for where a file uses it.
// runsCode: while it is loaded, and would see what was not read.
torch::jit::Module load(const std::shared_ptr<const Archive>& archive, bool runsCode,
                        torch::jit::ExtraFilesMap& extraFiles) {
  const auto attempt = [&] {
    if (!runsCode) {
      const auto tensors = std::make_shared<MappedTensors>(*archive);
      auto module =
          torch::jit::load(std::make_shared<MappedReader>(archive, tensors), at::Device(at::kCPU), extraFiles);
      if (tensors->place(module)) return module;
    }
    return torch::jit::load(std::make_shared<MappedReader>(archive, nullptr), at::Device(at::kCPU), extraFiles);
  };
  try {
    return attempt();
  } catch (const std::exception& error) {  // not always a c10::Error: an unknown operator is an ErrorReport
    const bool asksForOurs = std::string_view(error.what()).find("normlens::") != std::string_view::npos;
    if (!asksForOurs || !fastNormAvailable()) throw;
  }
  return attempt();
}

// Decides whether the objects of a loaded module are of the classes that its code reads them as. LibTorch builds what
// data.pkl names and reads an attribute of an object by its number in the declared class: an object of another class,
// with fewer attributes, is read past its end.
class ObjectTypes {
 public:
  // The first attribute that holds an object of another class, in words; nullopt: none does.
  std::optional<std::string> misplaced(const c10::IValue& root) {
    push(root, root.type(), "");
    while (!open_.empty() && !problem_) {
      const PendingValue pending = std::move(open_.back());
      open_.pop_back();
      visit(pending);
    }
    return problem_;
  }

 private:
  struct PendingValue {
    c10::IValue value;
    c10::TypePtr type;  // declared
    std::string name;
  };

  void push(const c10::IValue& value, const c10::TypePtr& type, std::string name) {
    open_.push_back({value, type, std::move(name)});
  }
  void visit(const PendingValue& pending) {
    if (const auto optional = pending.type->cast<c10::OptionalType>()) {
      if (!pending.value.isNone()) push(pending.value, optional->getElementType(), pending.name);
    } else if (pending.type->cast<c10::ClassType>() || pending.type->cast<c10::InterfaceType>()) {
      visitObject(pending);
    } else if (const auto list = pending.type->cast<c10::ListType>()) {
      if (!pending.value.isList()) return;
      for (const c10::IValue& item : pending.value.toListRef()) push(item, list->getElementType(), pending.name);
    } else if (const auto dict = pending.type->cast<c10::DictType>()) {
      if (!pending.value.isGenericDict()) return;
      for (const auto& entry : pending.value.toGenericDict()) push(entry.value(), dict->getValueType(), pending.name);
    } else if (const auto tuple = pending.type->cast<c10::TupleType>()) {
      visitTuple(pending, *tuple);
    }
  }
  void visitTuple(const PendingValue& pending, const c10::TupleType& type) {
    if (!pending.value.isTuple()) return;
    const auto& items = pending.value.toTupleRef().elements();
    if (items.size() != type.elements().size()) return misplaced(pending);
    for (size_t i = 0; i < items.size(); ++i) push(items[i], type.elements()[i], pending.name);
  }
  void visitObject(const PendingValue& pending) {
    if (pending.value.isNone() || pending.value.isCapsule()) return;
    if (!pending.value.isObject() || !pending.value.type()->isSubtypeOf(*pending.type)) return misplaced(pending);
    const auto object = pending.value.toObject();
    if (!seen_.insert(object.get()).second) return;
    const auto type = object->type();
    if (object->slots().size() < type->numAttributes()) return misplaced(pending);
    for (size_t i = 0; i < type->numAttributes(); ++i) {
      const std::string& attribute = type->getAttributeName(i);
      push(object->getSlot(i), type->getAttribute(i),
           pending.name.empty() ? attribute : pending.name + "." + attribute);
    }
  }
  void misplaced(const PendingValue& pending) {
    problem_ = "'" + pending.name + "' holds what is no " + pending.type->annotation_str();
  }

  std::vector<PendingValue> open_;
  std::unordered_set<const c10::ivalue::Object*> seen_;
  std::optional<std::string> problem_;
};

}  // namespace

Result<LoadedModule> loadModule(const std::shared_ptr<const Archive>& archive, bool strict) {
  const std::string path = archive->file().path().string();
  const std::string record = runningRecord(*archive);
  if (strict && !record.empty())
    return fail(ErrorCode::Unsupported,
                path + " has code that runs while it is loaded (__setstate__ in " + record +
                    "), which is not done where a model cannot be confined",
                "open it on a machine where `normlens-engine doctor` names a confinement");
  forbidOps(strict);
  const auto failed = [&](const std::string& why, std::string_view all) {
    if (const auto call = forbiddenInLoading(all))
      return fail(ErrorCode::Unsupported, path + " " + *call + ", as soon as it is loaded; it was not opened");
    if (why.find("Unknown builtin op") != std::string::npos)
      return fail(ErrorCode::Unsupported, path + " uses an operator that this engine does not have: " + why,
                  "load the library that defines it, or export the model without it");
    const bool ran = all.find("failed in the TorchScript interpreter") != std::string_view::npos;
    return fail(ErrorCode::Unreadable,
                path +
                    (ran ? ": its code that runs while it is loaded (__setstate__) raised an error: "
                         : ": its TorchScript code cannot be parsed or loaded: ") +
                    why,
                "export the model again with torch.jit.trace(...).save()");
  };
  const RunWatch watch(RunWatch::Kind::Load);
  try {
    LoadedModule loaded;
    loaded.source.archive = archive;
    loaded.source.extraFiles = extraFilesOf(*archive);
    loaded.source.module = load(archive, !record.empty(), loaded.source.extraFiles);
    if (const auto problem = ObjectTypes().misplaced(loaded.source.module._ivalue()))
      return fail(ErrorCode::Unreadable, path + " is a damaged TorchScript archive: " + *problem,
                  "copy or export the file again");
    runOnCpu(*loaded.source.module._ivalue()->compilation_unit());
    loaded.wasTraining = loaded.source.module.hasattr("training") && loaded.source.module.is_training();
    if (loaded.wasTraining) loaded.source.module.eval();  // else a part in training mode (dropout as noise) is meant so
    return loaded;
  } catch (const std::exception& error) {
    return failed(shortText(error), error.what());
  }
}

}  // namespace normlens::formats::torchscript
