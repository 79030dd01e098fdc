#include "core/formats/torchscript/program/mapped_tensors.h"

#include <unordered_set>

namespace normlens::formats::torchscript {
namespace {

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

}  // namespace

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

}  // namespace normlens::formats::torchscript
