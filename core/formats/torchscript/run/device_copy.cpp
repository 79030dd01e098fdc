#include "core/formats/torchscript/run/device_copy.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/formats/torchscript/program/each_node.h"
#include "core/formats/torchscript/save/tensor_rewrite.h"

namespace normlens::formats::torchscript {
namespace {

using c10::IValue;
using torch::jit::Node;

constexpr int64_t kAligned = 64;  // bytes: reads of several elements at once stay possible

bool hasBytes(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided && tensor.has_storage() && !tensor.is_quantized() &&
         !tensor.is_conj() && !tensor.is_neg() && tensor.numel() > 0;
}

// First byte in its storage, and the one behind the last.
std::pair<int64_t, int64_t> stretchOf(const at::Tensor& tensor) {
  int64_t last = tensor.storage_offset();
  for (int64_t axis = 0; axis < tensor.dim(); ++axis) last += (tensor.size(axis) - 1) * tensor.stride(axis);
  const auto bytes = static_cast<int64_t>(tensor.element_size());
  return {tensor.storage_offset() * bytes / kAligned * kAligned, (last + 1) * bytes};
}

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

void DeviceMemory::expect(const at::Tensor& tensor) {
  if (!hasBytes(tensor)) return;
  auto [first, end] = stretchOf(tensor);
  Stretches& stretches = memory_[tensor.storage().unsafeGetStorageImpl()];
  auto next = stretches.upper_bound(first);
  if (next != stretches.begin() && std::prev(next)->second.end > first) --next;
  while (next != stretches.end() && next->first < end) {
    if (next->second.moved.defined()) {
      if (next->first <= first && next->second.end >= end) return;
      break;  // comes too late: a stretch of its own
    }
    first = std::min(first, next->first);
    end = std::max(end, next->second.end);
    next = stretches.erase(next);
  }
  stretches[first] = {end, tensor.storage(), {}};
}

at::Tensor DeviceMemory::of(const at::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  if (!hasBytes(tensor)) return tensor.to(device_, tensor.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
  expect(tensor);
  Stretches& stretches = memory_[tensor.storage().unsafeGetStorageImpl()];
  auto& [first, stretch] = *std::prev(stretches.upper_bound(stretchOf(tensor).first));
  const auto bytes = tensor.options().dtype(at::kByte).requires_grad(false);
  if (!stretch.moved.defined()) {
    const at::Tensor there = at::empty({0}, bytes).set_(tensor.storage(), first, {stretch.end - first}, {1});
    stretch.moved = there.to(device_, at::kByte, /*non_blocking=*/false, /*copy=*/true);
  }
  const int64_t offset = tensor.storage_offset() - first / static_cast<int64_t>(tensor.element_size());
  return at::empty({0}, tensor.options().device(device_).requires_grad(false))
      .set_(stretch.moved.storage(), offset, tensor.sizes(), tensor.strides());
}

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
