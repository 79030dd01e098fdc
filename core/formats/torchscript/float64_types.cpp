#include "core/formats/torchscript/float64_types.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>

#include <array>
#include <optional>
#include <unordered_set>

namespace normlens::formats::torchscript {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

bool isNarrowFloat(int64_t type) {
  return type == static_cast<int64_t>(at::kHalf) || type == static_cast<int64_t>(at::kFloat) ||
         type == static_cast<int64_t>(at::kBFloat16);
}

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

constexpr int64_t kFloat64 = static_cast<int64_t>(at::kDouble);

bool isFloatNumber(const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::FloatType) return true;
  const auto list = type->cast<c10::ListType>();
  return list && isFloatNumber(list->getElementType());
}

// Factories without a type make torch's default one, float32, where their arguments do not say integers.
bool makesDefaultType(const Node& node) {
  static const std::unordered_set<std::string> always = {
      "aten::zeros",           "aten::ones",         "aten::empty",          "aten::rand",
      "aten::randn",           "aten::eye",          "aten::linspace",       "aten::logspace",
      "aten::scalar_tensor",   "aten::hann_window",  "aten::hamming_window", "aten::blackman_window",
      "aten::bartlett_window", "aten::kaiser_window"};
  static const std::unordered_set<std::string> byArguments = {"aten::full", "aten::arange", "aten::range",
                                                              "aten::tensor"};
  const std::string name = node.kind().toQualString();
  if (always.count(name) != 0) return true;
  if (byArguments.count(name) == 0) return false;
  for (const Value* input : node.inputs()) {
    if (isFloatNumber(input->type())) return true;
  }
  return false;
}

void widenTypeArguments(Node& node) {
  const auto* schema = schemaOf(node);
  if (schema == nullptr) return;
  const size_t shift = node.kind() == c10::prim::CallFunction ? 1 : 0;
  for (size_t i = 0; i < schema->arguments().size() && i + shift < node.inputs().size(); ++i) {
    if (schema->arguments()[i].name() != "dtype") continue;
    const Value* input = node.input(i + shift);
    const auto literal = constantInt(input);
    if (literal ? isNarrowFloat(*literal) : input->mustBeNone() && makesDefaultType(node)) {
      setInput(node, i + shift, kFloat64);
    }
  }
}

// x.dtype == torch.float32
void widenTypeComparison(Node& node) {
  if ((node.kind() != c10::aten::eq && node.kind() != c10::aten::ne) || node.inputs().size() != 2) return;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    if (node.input(side)->node()->kind() != c10::prim::dtype) continue;
    const auto literal = constantInt(node.input(1 - side));
    if (literal && isNarrowFloat(*literal)) setInput(node, 1 - side, kFloat64);
  }
}

// x.type("torch.FloatTensor")
void widenTypeName(Node& node) {
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    if (node.input(i)->type()->kind() != c10::TypeKind::StringType) continue;
    const auto known = torch::jit::toIValue(node.input(i));
    if (!known || !known->isString()) continue;
    std::string name = known->toStringRef();
    for (const std::string narrow : {"FloatTensor", "HalfTensor", "BFloat16Tensor"}) {
      const size_t at = name.rfind("." + narrow);
      if (at == std::string::npos) continue;
      setInput(node, i, name.substr(0, at) + ".DoubleTensor");
      break;
    }
  }
}

void widenBlock(Block& block) {
  for (Node* node : block.nodes()) {
    widenTypeArguments(*node);
    widenTypeComparison(*node);
    if (node->kind() == c10::Symbol::fromQualString("aten::type")) widenTypeName(*node);
    if (node->hasAttribute(c10::attr::Subgraph)) widenBlock(*node->g(c10::attr::Subgraph)->block());
    for (Block* inner : node->blocks()) widenBlock(*inner);
  }
}

// The first thing in the code or the attributes that exists in one type only.
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
    return search(*body->graph()->block());
  }

  std::string search(Block& block) {
    for (Node* node : block.nodes()) {
      const std::string space = node->kind().ns().toUnqualString();
      if (space == "quantized") return kQuantised;
      if (space == "mkldnn" || space == "mkldnn_prepacked" || space == "prepacked" || space == "xnnpack") {
        return std::string("its operator ") + node->kind().toQualString() + " exists in float32 only";
      }
      if (node->kind() == c10::prim::Constant) {
        if (const auto type = node->output()->type()->cast<c10::FunctionType>()) {
          if (auto found = search(*type->function()); !found.empty()) return found;
        }
        const auto known = torch::jit::toIValue(node->output());
        if (known && known->isTensor() && known->toTensor().is_quantized()) return kQuantised;
        if (known && known->isTensor() && known->toTensor().is_mkldnn()) return "it holds weights packed for float32";
      }
      for (Block* inner : node->blocks()) {
        if (auto found = search(*inner); !found.empty()) return found;
      }
    }
    return {};
  }

  static constexpr const char* kQuantised = "it is quantised";
  std::unordered_set<const void*> seen_;
};

}  // namespace

void widenLiteralTypes(Graph& graph) { widenBlock(*graph.block()); }

std::string float64Obstacle(const torch::jit::Module& module) { return ObstacleSearch().search(*module._ivalue()); }

}  // namespace normlens::formats::torchscript
