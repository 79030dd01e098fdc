#include "core/formats/torchscript/written_memory.h"

namespace normlens::formats::torchscript {

WrittenMemory::WrittenMemory(const Program& program) {
  for (const ConstantTensor& constant : program.constants) {
    if (constant.volatileReason.empty() || !constant.tensor.has_storage()) continue;
    const c10::Storage& storage = constant.tensor.storage();
    auto& copy = copies_[storage.unsafeGetStorageImpl()];
    if (copy) continue;
    const auto whole = at::empty({0}, constant.tensor.options().dtype(at::kByte))
                           .set_(storage, 0, {static_cast<int64_t>(storage.nbytes())}, {1});
    copy = whole.clone().storage();
  }
}

at::Tensor WrittenMemory::copyOf(const at::Tensor& tensor) const {
  if (copies_.empty() || !tensor.defined() || !tensor.has_storage()) return tensor;
  const auto found = copies_.find(tensor.storage().unsafeGetStorageImpl());
  if (found == copies_.end()) return tensor;
  return at::empty({0}, tensor.options())
      .set_(found->second, tensor.storage_offset(), tensor.sizes(), tensor.strides());
}

}  // namespace normlens::formats::torchscript
