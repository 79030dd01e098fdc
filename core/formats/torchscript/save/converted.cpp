// converted(): the same program with every tensor and every literal type in another floating type.
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_set>

#include "core/formats/torchscript/program/each_node.h"
#include "core/formats/torchscript/program/error_text.h"
#include "core/formats/torchscript/program/tensor_convert.h"
#include "core/formats/torchscript/save/save.h"
#include "core/formats/torchscript/save/tensor_rewrite.h"

namespace normlens::formats::torchscript {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

// The arguments of an op, or of the method or function that a call enters.
const c10::FunctionSchema* schemaOf(const Node& node) {
  if (node.kind() == c10::prim::CallFunction) {
    const auto type = node.input(0)->type()->cast<c10::FunctionType>();
    return type ? &type->function()->getSchema() : nullptr;
  }
  if (node.kind() == c10::prim::CallMethod) {
    const auto type = node.input(0)->type()->cast<c10::ClassType>();
    auto* method = type ? type->findMethod(node.s(c10::attr::name)) : nullptr;
    return method == nullptr ? nullptr : &method->getSchema();
  }
  return node.maybeSchema();
}

std::optional<int64_t> constantInt(const Value* value) {
  if (value->node()->kind() != c10::prim::Constant) return std::nullopt;
  const auto known = torch::jit::toIValue(value);
  return known && known->isInt() ? std::optional(known->toInt()) : std::nullopt;
}

// The literal may have other readers, for which it is a plain number: a new one is made.
void setInput(Node& node, size_t input, const c10::IValue& literal) {
  const torch::jit::WithInsertPoint here(&node);
  node.replaceInput(input, node.owningGraph()->insertConstant(literal));
}

bool isFloatNumber(const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::FloatType) return true;
  const auto list = type->cast<c10::ListType>();
  return list && isFloatNumber(list->getElementType());
}

// Factories without a type make torch's default one, float32, where their arguments are not integers.
bool makesDefaultType(const Node& node) {
  static const std::unordered_set<std::string> always = {
      "aten::zeros",           "aten::ones",         "aten::empty",          "aten::rand",
      "aten::randn",           "aten::eye",          "aten::linspace",       "aten::logspace",
      "aten::scalar_tensor",   "aten::hann_window",  "aten::hamming_window", "aten::blackman_window",
      "aten::bartlett_window", "aten::kaiser_window"};
  static const std::unordered_set<std::string> byArguments = {"aten::full", "aten::arange", "aten::range",
                                                              "aten::tensor"};
  const std::string name = node.kind().toQualString();
  if (always.contains(name)) return true;
  if (!byArguments.contains(name)) return false;
  return std::ranges::any_of(node.inputs(), [](const Value* input) { return isFloatNumber(input->type()); });
}

double largestOf(at::ScalarType type) {
  switch (type) {
    case at::kHalf:
      return static_cast<double>(std::numeric_limits<c10::Half>::max());
    case at::kBFloat16:
      return static_cast<double>(std::numeric_limits<c10::BFloat16>::max());
    case at::kFloat:
      return static_cast<double>(std::numeric_limits<float>::max());
    default:
      return std::numeric_limits<double>::max();
  }
}

std::string tensorClassOf(at::ScalarType type) { return std::string(c10::toString(type)) + "Tensor"; }

// Literal floating types in casts, factories and reductions become `to`, in a body and the graphs inside it, and
// literal numbers beyond its range its largest one (a mask of -3.4e38 stays a mask). Which inputs are element types is
// read off the operators' schemas. No operation is added or removed.
class Retyper {
 public:
  explicit Retyper(at::ScalarType to) : to_(to) {}

  void block(Block& block) {
    eachNode(block, [&](Node& node) {
      typeArguments(node);
      typeComparison(node);
      if (node.kind() == c10::prim::Constant) number(node);
      if (node.kind() == c10::Symbol::fromQualString("aten::type")) typeName(node);
    });
  }

 private:
  // Returns the type in place of a floating one; a complex type gets one with parts as wide, which halves do not have.
  [[nodiscard]] std::optional<c10::IValue> insteadOf(int64_t type) const {
    const auto given = static_cast<at::ScalarType>(type);
    const bool complex = given == at::kComplexFloat || given == at::kComplexDouble;
    const bool real = given == at::kHalf || given == at::kBFloat16 || given == at::kFloat || given == at::kDouble;
    const at::ScalarType to = !complex ? to_ : to_ == at::kDouble ? at::kComplexDouble : at::kComplexFloat;
    return (real || complex) && given != to ? std::optional<c10::IValue>(static_cast<int64_t>(to)) : std::nullopt;
  }

  void typeArguments(Node& node) const {
    const auto* schema = schemaOf(node);
    if (schema == nullptr) return;
    const size_t shift = node.kind() == c10::prim::CallFunction ? 1 : 0;
    for (size_t i = 0; i < schema->arguments().size() && i + shift < node.inputs().size(); ++i) {
      if (schema->arguments()[i].name() != "dtype") continue;
      const Value* input = node.input(i + shift);
      const auto given = constantInt(input);
      const bool isDefault = !given && input->mustBeNone() && makesDefaultType(node);
      if (const auto other = given ? insteadOf(*given) : std::nullopt; other || isDefault)
        setInput(node, i + shift, other.value_or(static_cast<int64_t>(to_)));
    }
  }

  // x.dtype == torch.float32
  void typeComparison(Node& node) const {
    if ((node.kind() != c10::aten::eq && node.kind() != c10::aten::ne) || node.inputs().size() != 2) return;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      if (node.input(side)->node()->kind() != c10::prim::dtype) continue;
      const auto given = constantInt(node.input(1 - side));
      if (const auto other = given ? insteadOf(*given) : std::nullopt) setInput(node, 1 - side, *other);
    }
  }

  // x.type("torch.FloatTensor")
  void typeName(Node& node) const {
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      if (node.input(i)->type()->kind() != c10::TypeKind::StringType) continue;
      const auto known = torch::jit::toIValue(node.input(i));
      if (!known || !known->isString()) continue;
      const std::string name = known->toStringRef();
      for (const at::ScalarType other : {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble}) {
        const size_t at = name.rfind("." + tensorClassOf(other));
        if (at == std::string::npos) continue;
        setInput(node, i, name.substr(0, at + 1) + tensorClassOf(to_));
        break;
      }
    }
  }

  void number(Node& constant) const {
    if (constant.output()->type()->kind() != c10::TypeKind::FloatType) return;
    const auto known = torch::jit::toIValue(constant.output());
    const double largest = largestOf(to_);
    if (!known || !std::isfinite(known->toDouble()) || std::abs(known->toDouble()) <= largest) return;
    constant.f_(c10::attr::value, std::copysign(largest, known->toDouble()));
  }

  at::ScalarType to_;
};

// The first thing in the code or the attributes that exists in one type only (quantized or packed operators).
class ObstacleSearch {
 public:
  std::string search(const c10::ivalue::Object& object) {
    if (!seen_.insert(&object).second) return {};
    for (const auto& value : object.slots()) {
      if (value.isTensor() && value.toTensor().defined() && value.toTensor().is_quantized()) return kQuantised;
      if (!value.isObject()) continue;
      if (!value.toObjectRef().type()->is_module())
        return "it holds packed weights of class " + value.toObjectRef().name();
      if (auto found = search(value.toObjectRef()); !found.empty()) return found;
    }
    for (torch::jit::Function* method : object.type()->methods()) {
      if (auto found = search(*method); !found.empty()) return found;
    }
    return {};
  }

 private:
  std::string search(torch::jit::Function& function) {
    auto* body = torch::jit::tryToGraphFunction(function);
    if (body == nullptr || !seen_.insert(body).second) return {};
    body->ensure_defined();
    std::string found;
    eachNode(*body->graph()->block(), [&](const Node& node) {
      if (found.empty()) found = obstacleIn(node);
    });
    return found;
  }

  std::string obstacleIn(const Node& node) {
    const std::string space = node.kind().ns().toUnqualString();
    if (space == "quantized") return kQuantised;
    if (space == "mkldnn" || space == "mkldnn_prepacked" || space == "prepacked" || space == "xnnpack")
      return std::string("its operator ") + node.kind().toQualString() + " exists in float32 only";
    if (node.kind() != c10::prim::Constant) return {};
    if (const auto type = node.output()->type()->cast<c10::FunctionType>()) return search(*type->function());
    const auto known = torch::jit::toIValue(node.output());
    if (!known || !known->isTensor()) return {};
    if (known->toTensor().is_quantized()) return kQuantised;
    return known->toTensor().is_mkldnn() ? "it holds weights packed for float32" : "";
  }

  static constexpr const char* kQuantised = "it is quantised";
  std::unordered_set<const void*> seen_;
};

// Elements in a floating type; finite ones beyond its range become its largest. copies: those of that type as well.
at::Tensor saturated(const at::Tensor& elements, at::ScalarType to, bool copies) {
  at::Tensor made = elements.to(to, false, copies);
  if (largestOf(to) >= largestOf(elements.scalar_type())) return made;
  const at::Tensor lost = at::isinf(made).logical_and_(at::isfinite(elements));
  if (!lost.any().item<bool>()) return made;
  return at::where(lost, at::sign(made.nan_to_num()).mul_(largestOf(to)), made);
}

}  // namespace

Result<LoweredModel> converted(const LoweredModel& model, graph::DType dtype) {
  const std::string refusal = "the model cannot be run in " + std::string(graph::dtypeName(dtype)) + ": ";
  if (!graph::isFloat(dtype)) return fail(ErrorCode::Unsupported, refusal + "it is no floating type");
  RETURN_IF_ERROR(model.source.computeWeights({}));
  try {
    const std::string obstacle = ObstacleSearch().search(*model.source.module._ivalue());
    if (!obstacle.empty()) return fail(ErrorCode::Unsupported, refusal + obstacle);
    const at::ScalarType to = scalarTypeOf(dtype);
    RewriteRules rules;
    const bool copies = model.program.writesState;
    const auto& archive = model.source.archive;
    rules.memory = [&](const at::Tensor& elements) {
      at::Tensor made = saturated(elements, to, copies);
      // Pages of the file are let go once they are read; but for those that hold what a run has left there.
      const auto* read = static_cast<const std::byte*>(elements.const_data_ptr());
      if (archive && !copies) archive->sharedFile()->letGo({read, elements.nbytes()});
      return made;
    };
    rules.code = [to](torch::jit::Graph& graph) { Retyper(to).block(*graph.block()); };
    rules.copyOthers = copies;
    ModuleSource source = model.source.with(rewriteTensors(model.source.module, rules));
    source.archive = nullptr;
    source.defaultType = to;
    for (auto& input : source.declared) {
      if (input && graph::isFloat(input->dtype)) input->dtype = dtype;
    }
    auto made = lowered(std::move(source), model.facts);
    if (!made) return made;
    made->facts.dtype = dtype;
    made->adoptProbe(model, dtype);
    return made;
  } catch (const std::exception& error) {
    return fail(ErrorCode::Unsupported, refusal + shortText(error));
  }
}

}  // namespace normlens::formats::torchscript
