#include "core/formats/torchscript/run/device_copy.h"

#include <torch/csrc/jit/ir/constants.h>

#include "core/formats/torchscript/program/each_node.h"
#include "core/formats/torchscript/run/device_memory.h"
#include "core/formats/torchscript/save/tensor_rewrite.h"

namespace normlens::formats::torchscript {
namespace {

using c10::IValue;
using torch::jit::Node;

// The tensors inside, wherever they are.
IValue moved(const IValue& value, DeviceMemory& memory) {
  if (value.isTensor()) return memory.of(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> there;
    for (const at::Tensor& tensor : value.toTensorVector()) there.push_back(memory.of(tensor));
    return there;
  }
  if (value.isTuple()) {
    auto elements = value.toTupleRef().elements().vec();
    for (IValue& element : elements) element = moved(element, memory);
    const auto type = value.type()->cast<c10::TupleType>();
    return type && type->name() ? c10::ivalue::Tuple::createNamed(std::move(elements), type)
                                : c10::ivalue::Tuple::create(std::move(elements));
  }
  if (value.isGenericDict()) {
    auto there = value.toGenericDict().copy();
    for (const auto& entry : value.toGenericDict()) there.insert_or_assign(entry.key(), moved(entry.value(), memory));
    return there;
  }
  return value;
}

void expectIn(const IValue& value, DeviceMemory& memory) {
  value.visit([&](const IValue& inner) {
    if (inner.isTensor()) memory.expect(inner.toTensor());
    return inner.isObject();  // a module's own slots are visited as its
  });
}

void moveConstant(Node& node, c10::Device device, DeviceMemory& memory) {
  const auto value = torch::jit::toIValue(node.output());
  if (!value) return;
  const bool names = value->isDevice();
  const bool holds = value->isTensor() || value->isTensorList() || value->isTuple() || value->isGenericDict();
  if (!names && !holds) return;
  const torch::jit::WithInsertPoint here(&node);
  const IValue there = names ? IValue(device) : moved(*value, memory);
  node.output()->replaceAllUsesWith(node.owningGraph()->insertConstant(there));
}

template <class Visit>
void eachSlot(const torch::jit::Module& module, const Visit& visit) {
  for (const torch::jit::Module& part : module.modules()) {
    const auto object = part._ivalue();
    for (size_t slot = 0; slot < object->slots().size(); ++slot) {
      if (!object->getSlot(slot).isObject()) visit(*object, slot);
    }
  }
}

}  // namespace

void moveInputs(std::vector<IValue>& inputs, c10::Device device) {
  DeviceMemory memory(device);
  for (const IValue& input : inputs) expectIn(input, memory);
  for (IValue& input : inputs) input = moved(input, memory);
}

torch::jit::Module copyOnDevice(const torch::jit::Module& module, c10::Device device) {
  const torch::NoGradGuard noGradients;
  DeviceMemory memory(device);
  eachSlot(module, [&](const c10::ivalue::Object& object, size_t slot) { expectIn(object.getSlot(slot), memory); });
  RewriteRules rules;
  rules.memory = [](const at::Tensor& elements) { return elements; };
  rules.code = [&](torch::jit::Graph& graph) {
    eachNode(*graph.block(), [&](Node& node) {
      if (node.kind() == c10::prim::Constant) moveConstant(node, device, memory);
    });
  };
  torch::jit::Module copy = rewriteTensors(module, rules);
  eachSlot(copy, [&](c10::ivalue::Object& object, size_t slot) {
    object.setSlot(slot, moved(object.getSlot(slot), memory));
  });
  return copy;
}

}  // namespace normlens::formats::torchscript
