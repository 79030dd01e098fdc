#include "core/formats/torchscript/run/meta_run.h"

#include <algorithm>
#include <stdexcept>

namespace normlens::formats::torchscript {

using c10::IValue;

IValue withoutMemory(const IValue& value) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined() || tensor.is_meta()) return value;
    if (tensor.layout() != at::kStrided || tensor.is_quantized()) throw std::runtime_error("it is no plain tensor");
    return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kMeta));
  }
  if (value.isList()) {
    c10::impl::GenericList list(value.type()->containedType(0));
    for (const IValue& element : value.toListRef()) list.push_back(withoutMemory(element));
    return list;
  }
  if (value.isTuple()) {
    std::vector<IValue> elements;
    for (const IValue& element : value.toTupleRef().elements()) elements.push_back(withoutMemory(element));
    return c10::ivalue::Tuple::create(std::move(elements));
  }
  return value;
}

void makeWithoutMemory(const torch::jit::Node& op, std::vector<IValue>& arguments) {
  if (op.hasSideEffects()) throw std::runtime_error("it does more than make a result");
  const auto* schema = op.maybeSchema();
  if (schema == nullptr) return;
  for (size_t i = 0; i < std::min(arguments.size(), schema->arguments().size()); ++i) {
    const auto& argument = schema->arguments()[i];
    const bool written = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    if (written && !arguments[i].isTensor() && !arguments[i].isNone())
      throw std::runtime_error("it changes a container");
    if (argument.name() == "device") arguments[i] = at::Device(at::kMeta);
  }
}

}  // namespace normlens::formats::torchscript
