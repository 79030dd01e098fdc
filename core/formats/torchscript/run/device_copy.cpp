#include "core/formats/torchscript/run/device_copy.h"

#include <torch/csrc/jit/ir/constants.h>

#include "core/formats/torchscript/program/each_node.h"
#include "core/formats/torchscript/save/tensor_rewrite.h"

namespace normlens::formats::torchscript {
namespace {

using c10::IValue;
using torch::jit::Block;
using torch::jit::Node;

void moveConstant(Node& node, c10::Device device) {
  const auto value = torch::jit::toIValue(node.output());
  if (!value) return;
  const bool names = value->isDevice();
  const bool holds = value->isTensor() || value->isTensorList() || value->isTuple() || value->isGenericDict();
  if (!names && !holds) return;
  const torch::jit::WithInsertPoint here(&node);
  const IValue moved = names ? IValue(device) : onDevice(*value, device);
  node.output()->replaceAllUsesWith(node.owningGraph()->insertConstant(moved));
}

void moveBlock(Block& block, c10::Device device) {
  eachNode(block, [&](Node& node) {
    if (node.kind() == c10::prim::Constant) moveConstant(node, device);
  });
}

}  // namespace

IValue onDevice(const IValue& value, c10::Device device) {
  if (value.isTensor()) return value.toTensor().defined() ? IValue(value.toTensor().to(device)) : value;
  if (value.isTensorList()) {
    c10::List<at::Tensor> moved;
    for (const at::Tensor& tensor : value.toTensorVector()) moved.push_back(tensor.to(device));
    return moved;
  }
  if (value.isTuple()) {
    auto elements = value.toTupleRef().elements().vec();
    for (IValue& element : elements) element = onDevice(element, device);
    const auto type = value.type()->cast<c10::TupleType>();
    return type && type->name() ? c10::ivalue::Tuple::createNamed(std::move(elements), type)
                                : c10::ivalue::Tuple::create(std::move(elements));
  }
  if (value.isGenericDict()) {
    auto moved = value.toGenericDict().copy();
    for (const auto& entry : value.toGenericDict()) {
      moved.insert_or_assign(entry.key(), onDevice(entry.value(), device));
    }
    return moved;
  }
  return value;
}

torch::jit::Module copyOnDevice(const torch::jit::Module& module, c10::Device device) {
  RewriteRules rules;
  rules.memory = [](const at::Tensor& elements) { return elements; };
  rules.code = [device](torch::jit::Graph& graph) { moveBlock(*graph.block(), device); };
  torch::jit::Module moved = rewriteTensors(module, rules);
  for (const torch::jit::Module& part : moved.modules()) {
    const auto object = part._ivalue();
    for (size_t slot = 0; slot < object->slots().size(); ++slot) {
      const IValue& value = object->getSlot(slot);
      if (!value.isObject()) object->setSlot(slot, onDevice(value, device));
    }
  }
  return moved;
}

}  // namespace normlens::formats::torchscript
