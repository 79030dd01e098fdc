#include "core/formats/torchscript/written_state.h"

#include <unordered_set>

#include "core/formats/torchscript/module_index.h"
#include "core/formats/torchscript/written_memory.h"

namespace normlens::formats::torchscript {
namespace {

using c10::IValue;

// Of what is neither a tensor nor a module. Packed weights are never written.
bool mayHoldState(const IValue& value) {
  return value.isList() || value.isTuple() || value.isGenericDict() || (value.isObject() && !value.isCustomClass());
}

class StateCopier {
 public:
  explicit StateCopier(const Program& program) : copiesContainers_(program.writesState), memory_(program) {}

  EditsByInstance copiesFor(const torch::jit::Module& module) {
    if (!memory_.empty() || copiesContainers_) addObject(*module._ivalue());
    return std::move(edits_);
  }

 private:
  void addObject(const c10::ivalue::Object& object) {
    if (!seen_.insert(&object).second) return;
    for (size_t slot = 0; slot < object.slots().size(); ++slot) {
      const IValue& value = object.getSlot(slot);
      if (isModule(value)) {
        addObject(value.toObjectRef());
      } else if (value.isTensor()) {
        const at::Tensor copy = memory_.copyOf(value.toTensor());
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
  void rememberTensorsIn(const IValue& state) {
    state.visit([this](const IValue& value) {
      if (value.isTensor()) memo_.emplace(value, memory_.copyOf(value.toTensor()));
      return value.isObject() && !seen_.insert(&value.toObjectRef()).second;
    });
  }

  bool copiesContainers_;
  WrittenMemory memory_;
  std::unordered_set<const c10::ivalue::Object*> seen_;
  IValue::HashIdentityIValueMap memo_;
  EditsByInstance edits_;
};

}  // namespace

EditsByInstance copiesOfWrittenState(const torch::jit::Module& module, const Program& program) {
  return StateCopier(program).copiesFor(module);
}

}  // namespace normlens::formats::torchscript
