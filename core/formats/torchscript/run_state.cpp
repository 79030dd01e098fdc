#include "core/formats/torchscript/run_state.h"

namespace normlens::formats::torchscript {

c10::IValue copyOfState(const c10::IValue& value) {
  if (value.isObject()) return value;
  return value.deepcopy();
}

RunState::RunState(const Program& program) : program_(program) {
  for (const ConstantTensor& constant : program.constants) {
    if (constant.volatileReason.empty() || !constant.tensor.has_storage()) continue;
    const auto& storage = constant.tensor.storage();
    if (copies_.count(storage.unsafeGetStorageImpl()) != 0) continue;
    const auto whole = at::empty({0}, constant.tensor.options().dtype(at::kByte))
                           .set_(storage, 0, {static_cast<int64_t>(storage.nbytes())}, {1});
    copies_.emplace(storage.unsafeGetStorageImpl(), whole.clone().storage());
  }
  if (!program.writesState) return;
  for (const ProgramNode& node : program.nodes) {
    const auto kind = node.node->kind();
    if (kind == c10::prim::GetAttr || kind == c10::prim::SetAttr) continue;
    for (const int value : node.inputs) copyModule(value);
  }
  for (const ProgramBlock& block : program.blocks) {
    for (const int value : block.returns) copyModule(value);
  }
}

void RunState::copyModule(int value) {
  const auto& known = program_.values[static_cast<size_t>(value)].known;
  if (!known || !known->isObject() || !known->toObjectRef().type()->is_module()) return;
  auto& copy = modules_[&known->toObjectRef()];
  if (copy.isNone()) copy = known->deepcopy();
}

c10::IValue RunState::contentOf(int value) const {
  const ProgramValue& at = program_.values[static_cast<size_t>(value)];
  const c10::IValue& known = *at.known;
  if (known.isTensor()) {
    const at::Tensor& tensor = known.toTensor();
    if (copies_.empty() || !tensor.defined() || !tensor.has_storage()) return known;
    const auto found = copies_.find(tensor.storage().unsafeGetStorageImpl());
    if (found == copies_.end()) return known;
    return at::empty({0}, tensor.options())
        .set_(found->second, tensor.storage_offset(), tensor.sizes(), tensor.strides());
  }
  if (known.isObject()) {
    const auto module = modules_.find(&known.toObjectRef());
    return module == modules_.end() ? known : module->second;
  }
  // Containers of the file that the program may change.
  if (program_.writesState && (known.isList() || known.isGenericDict())) return known.deepcopy();
  return known;
}

}  // namespace normlens::formats::torchscript
