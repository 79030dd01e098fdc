#include "core/formats/torchscript/written_state.h"

#include <unordered_set>

namespace normlens::formats::torchscript {
namespace {

using c10::IValue;

bool isModule(const IValue& value) { return value.isObject() && value.toObjectRef().type()->is_module(); }

// Of what is neither a tensor nor a module. Packed weights are never written.
bool mayHoldState(const IValue& value) {
  return value.isList() || value.isTuple() || value.isGenericDict() || (value.isObject() && !value.isCustomClass());
}

class StateCopier {
 public:
  explicit StateCopier(const Program& program) : copiesContainers_(program.writesState) {
    for (const ConstantTensor& constant : program.constants) {
      if (!constant.volatileReason.empty() && constant.tensor.has_storage()) copyMemoryOf(constant.tensor);
    }
  }

  EditsByInstance copiesFor(const torch::jit::Module& module) {
    if (!copies_.empty() || copiesContainers_) addObject(*module._ivalue());
    return std::move(edits_);
  }

 private:
  void copyMemoryOf(const at::Tensor& tensor) {
    const c10::Storage& storage = tensor.storage();
    auto& copy = copies_[storage.unsafeGetStorageImpl()];
    if (copy) return;
    const auto whole = at::empty({0}, tensor.options().dtype(at::kByte).requires_grad(false))
                           .set_(storage, 0, {static_cast<int64_t>(storage.nbytes())}, {1});
    copy = whole.clone().storage();
  }

  // The tensor itself where its memory is not written.
  [[nodiscard]] at::Tensor copyOf(const at::Tensor& tensor) const {
    if (!tensor.defined() || !tensor.has_storage()) return tensor;
    const auto found = copies_.find(tensor.storage().unsafeGetStorageImpl());
    if (found == copies_.end()) return tensor;
    return at::empty({0}, tensor.options().requires_grad(false))
        .set_(found->second, tensor.storage_offset(), tensor.sizes(), tensor.strides());
  }

  void addObject(const c10::ivalue::Object& object) {
    if (!seen_.insert(&object).second) return;
    for (size_t slot = 0; slot < object.slots().size(); ++slot) {
      const IValue& value = object.getSlot(slot);
      if (isModule(value)) {
        addObject(value.toObjectRef());
      } else if (value.isTensor()) {
        const at::Tensor copy = copyOf(value.toTensor());
        if (!copy.is_same(value.toTensor())) set(object, slot, copy);
      } else if (copiesContainers_ && mayHoldState(value)) {
        rememberTensorsIn(value);
        set(object, slot, value.deepcopy(memo_));
      }
    }
  }

  void set(const c10::ivalue::Object& object, size_t slot, IValue value) {
    edits_[&object].values[object.type()->getAttributeName(slot)] = std::move(value);
  }

  // For deepcopy(), which clones all others.
  void rememberTensorsIn(const IValue& value) {
    if (value.isTensor()) {
      memo_.emplace(value, copyOf(value.toTensor()));
    } else if (value.isTuple()) {
      for (const IValue& element : value.toTupleRef().elements()) rememberTensorsIn(element);
    } else if (value.isList()) {
      for (const IValue& element : value.toListRef()) rememberTensorsIn(element);
    } else if (value.isGenericDict()) {
      for (const auto& entry : value.toGenericDict()) rememberTensorsIn(entry.value());
    } else if (value.isObject() && seen_.insert(&value.toObjectRef()).second) {
      for (const IValue& slot : value.toObjectRef().slots()) rememberTensorsIn(slot);
    }
  }

  bool copiesContainers_;
  std::unordered_map<const c10::StorageImpl*, c10::Storage> copies_;
  std::unordered_set<const c10::ivalue::Object*> seen_;
  IValue::HashIdentityIValueMap memo_;
  EditsByInstance edits_;
};

}  // namespace

EditsByInstance copiesOfWrittenState(const torch::jit::Module& module, const Program& program) {
  return StateCopier(program).copiesFor(module);
}

}  // namespace normlens::formats::torchscript
