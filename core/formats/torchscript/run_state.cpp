#include "core/formats/torchscript/run_state.h"

#include "core/formats/torchscript/module_index.h"

namespace normlens::formats::torchscript {

c10::IValue copyOfState(const c10::IValue& value) {
  if (value.isObject()) return value;
  return value.deepcopy();
}

RunState::RunState(const Program& program) : program_(program), memory_(program) {
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
  if (!known || !isModule(*known)) return;
  auto& copy = modules_[&known->toObjectRef()];
  if (copy.isNone()) copy = known->deepcopy();
}

c10::IValue RunState::contentOf(int value) const {
  const ProgramValue& at = program_.values[static_cast<size_t>(value)];
  const c10::IValue& known = *at.known;
  if (known.isTensor()) return memory_.copyOf(known.toTensor());
  if (known.isObject()) {
    const auto module = modules_.find(&known.toObjectRef());
    return module == modules_.end() ? known : module->second;
  }
  // Containers of the file that the program may change.
  if (program_.writesState && (known.isList() || known.isGenericDict())) return known.deepcopy();
  return known;
}

}  // namespace normlens::formats::torchscript
