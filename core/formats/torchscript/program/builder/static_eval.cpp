#include "core/formats/torchscript/program/builder/static_eval.h"

#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace normlens::formats::torchscript {
namespace {

constexpr std::array<std::string_view, 27> kPureOps = {
    "aten::__not__", "aten::__is__", "aten::__isnot__",  "aten::eq",           "aten::ne",     "aten::lt",
    "aten::le",      "aten::gt",     "aten::ge",         "aten::__and__",      "aten::__or__", "aten::add",
    "aten::sub",     "aten::mul",    "aten::floordiv",   "aten::remainder",    "aten::neg",    "aten::len",
    "aten::Int",     "aten::Float",  "aten::Bool",       "aten::__contains__", "prim::min",    "prim::max",
    "aten::str",     "aten::div",    "aten::__getitem__"};

bool isScalarLike(const c10::IValue& value) {
  return value.isInt() || value.isDouble() || value.isBool() || value.isString() || value.isNone() || value.isDevice();
}

// Scalars, and containers of scalars that an op may look into.
bool mayEvaluate(const c10::IValue& value) {
  return isScalarLike(value) || (value.isList() && std::ranges::all_of(value.toListRef(), isScalarLike));
}

}  // namespace

std::optional<std::vector<c10::IValue>> evaluateKnown(torch::jit::Node* node, const std::vector<c10::IValue>& inputs) {
  const std::string_view kind = node->kind().toQualString();
  if (kind == "aten::len" && inputs.size() == 1 && inputs[0].isList())
    return std::vector<c10::IValue>{static_cast<int64_t>(inputs[0].toListRef().size())};
  if (std::ranges::find(kPureOps, kind) == kPureOps.end()) return std::nullopt;
  if (!std::ranges::all_of(inputs, mayEvaluate) || node->outputs().size() != 1) return std::nullopt;
  const auto* op = node->maybeOperator();
  if (op == nullptr || !op->hasOperation()) return std::nullopt;
  try {
    torch::jit::Stack stack(inputs);
    op->getOperation(node)(stack);
    if (stack.size() != 1 || stack[0].isTensor()) return std::nullopt;
    return std::vector<c10::IValue>{stack[0]};
  } catch (const std::exception&) {
    return std::nullopt;  // it will raise when it runs, if it ever does
  }
}

bool neverNone(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
    case c10::TypeKind::ListType:
    case c10::TypeKind::TupleType:
    case c10::TypeKind::DictType:
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::ClassType:
      return true;
    default:
      return false;
  }
}

bool alwaysRaises(const torch::jit::Block& block) {
  const auto nodes = block.nodes();
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const torch::jit::Node* node) { return node->kind() == c10::prim::RaiseException; });
}

}  // namespace normlens::formats::torchscript
