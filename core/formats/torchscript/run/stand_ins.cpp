#include "core/formats/torchscript/run/stand_ins.h"

#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <functional>

#include "core/formats/torchscript/lower/op_rule.h"

namespace normlens::formats::torchscript {
namespace {

using c10::IValue;
using torch::jit::Node;

graph::OpKind kindOf(const Node* node) {
  const OpRule* rule = findOpRule(node->kind().toQualString());
  return rule == nullptr ? graph::OpKind::Opaque : rule->kind;
}

// Convolutions are not: torch has no meta kernel for them in C++.
bool isProduct(const Node* node) {
  switch (kindOf(node)) {
    case graph::OpKind::Linear:
    case graph::OpKind::MatMul:
    case graph::OpKind::AddMatMul:
      return true;
    default:
      return false;
  }
}

bool isPlain(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided && tensor.is_cpu() && !tensor.is_quantized();
}

void forEachTensor(const IValue& value, const std::function<void(const at::Tensor&)>& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isTuple()) {
    for (const IValue& element : value.toTupleRef().elements()) forEachTensor(element, visit);
  } else if (value.isList()) {
    for (const IValue& element : value.toListRef()) forEachTensor(element, visit);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) forEachTensor(entry.value(), visit);
  }
}

const c10::StorageImpl* storageOf(const at::Tensor& tensor) {
  return tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
}

bool hasTensors(const IValue& value) {
  bool found = false;
  forEachTensor(value, [&](const at::Tensor&) { found = true; });
  return found;
}

// Its results have shapes or values that depend on what its inputs hold: nonzero, item, masked_select ...
bool dependsOnValues(const Node* node) {
  const torch::jit::Operator* op = node->maybeOperator();
  if (op == nullptr) return false;
  const auto tags = op->getTags();
  return std::ranges::any_of(
      tags, [](at::Tag tag) { return tag == at::Tag::dynamic_output_shape || tag == at::Tag::data_dependent_output; });
}

}  // namespace

bool StandIns::replace(const Node* node, std::vector<IValue>& stack) {
  if (!isProduct(node) || node->outputs().size() != 1 || node->maybeOperator() == nullptr) return false;
  const auto& schema = node->schema();
  if (schema.is_mutable() || schema.is_vararg()) return false;
  std::vector<IValue> shapes = stack;
  for (IValue& value : shapes) {
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    const at::Tensor& tensor = value.toTensor();
    if (!isPlain(tensor)) return false;
    value = at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kMeta));
  }
  node->getOperation()(shapes);
  const at::Tensor& shape = shapes.back().toTensor();
  at::Tensor zeros = at::empty_strided(shape.sizes(), shape.strides(), shape.options().device(at::kCPU)).zero_();
  stack.assign(1, zeros);
  mark(stack.back(), true);
  return true;
}

void StandIns::follow(const Node* node, const std::vector<IValue>& inputs, const std::vector<IValue>& outputs) {
  const bool reads = std::ranges::any_of(inputs, [this](const IValue& value) { return isStandIn(value); });
  if (!reads) {
    for (const IValue& value : outputs) mark(value, false);
    return;
  }
  const std::string op = node->kind().toQualString();
  if (dependsOnValues(node)) throw ValueNeeded(op + " reads what was not computed");
  for (const IValue& value : outputs) {
    // Sizes and types are known; any other number is not.
    if (!hasTensors(value) && !value.isNone() && kindOf(node) != graph::OpKind::ShapeQuery)
      throw ValueNeeded(op + " makes a number of what was not computed");
    mark(value, true);
  }
  const torch::jit::Operator* schemaOf = node->maybeOperator();
  if (schemaOf != nullptr && schemaOf->schema().is_mutable()) {
    for (const IValue& value : inputs) mark(value, true);
  }
}

bool StandIns::isStandIn(const IValue& value) const {
  bool found = false;
  forEachTensor(value, [&](const at::Tensor& tensor) { found = found || storages_.contains(storageOf(tensor)); });
  return found;
}

void StandIns::mark(const IValue& value, bool standIn) {
  forEachTensor(value, [&](const at::Tensor& tensor) {
    if (standIn) {
      storages_.insert(storageOf(tensor));
    } else {
      storages_.erase(storageOf(tensor));
    }
  });
}

}  // namespace normlens::formats::torchscript
