#include "core/formats/torchscript/save/tensor_rewrite.h"

#include <torch/csrc/jit/api/function_impl.h>

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/formats/torchscript/edit/apply_module_copy.h"
#include "core/formats/torchscript/program/each_node.h"
#include "core/formats/torchscript/program/module_index.h"

namespace normlens::formats::torchscript {
namespace {

using torch::jit::Block;
using torch::jit::Function;
using torch::jit::Node;

// New tensors for old ones; views of one memory stay views of one memory.
class TensorTwins {
 public:
  explicit TensorTwins(const RewriteRules& rules) : rules_(rules) {}

  at::Tensor of(const at::Tensor& tensor) {
    if (!tensor.defined() || tensor.layout() != at::kStrided || !tensor.has_storage() || tensor.is_quantized() ||
        tensor.is_conj()) {
      return tensor;
    }
    if (!tensor.is_floating_point() && !tensor.is_complex() && !rules_.copyOthers) return tensor;
    const at::Tensor& memory = memoryOf(tensor);
    at::Tensor twin = at::empty({0}, memory.options())
                          .set_(memory.storage(), tensor.storage_offset(), tensor.sizes(), tensor.strides());
    if (twin.is_floating_point()) twin.set_requires_grad(tensor.requires_grad());
    return twin;
  }

 private:
  const at::Tensor& memoryOf(const at::Tensor& tensor) {
    at::Tensor& memory = memories_[{tensor.storage().unsafeGetStorageImpl(), tensor.scalar_type()}];
    if (memory.defined()) return memory;
    const auto elements = static_cast<int64_t>(tensor.storage().nbytes() / tensor.element_size());
    const auto flat = at::empty({0}, tensor.options().requires_grad(false)).set_(tensor.storage(), 0, {elements}, {1});
    if (tensor.is_complex()) return memory = ofParts(rules_.memory(at::view_as_real(flat).flatten()));
    return memory = tensor.is_floating_point() ? rules_.memory(flat) : flat.clone();
  }
  // Few operators take complex numbers of halves.
  static at::Tensor ofParts(const at::Tensor& parts) {
    return at::view_as_complex((parts.element_size() < 4 ? parts.to(at::kFloat) : parts).view({-1, 2}));
  }

  const RewriteRules& rules_;
  std::map<std::pair<const c10::StorageImpl*, at::ScalarType>, at::Tensor> memories_;  // dense vectors
};

class Rewriter {
 public:
  Rewriter(const torch::jit::Module& module, const RewriteRules& rules)
      : module_(module), rules_(rules), twins_(rules), unit_(std::make_shared<torch::jit::CompilationUnit>()) {}

  torch::jit::Module run() {
    visit(module_._ivalue());
    return copyModule(module_, unit_, edits_);
  }

 private:
  void visit(const ObjectPtr& object) {
    if (!seen_.insert(object.get()).second) return;
    auto& edits = edits_[object.get()];
    const auto type = object->type();
    for (size_t slot = 0; slot < object->slots().size(); ++slot) {
      const auto& value = object->getSlot(slot);
      if (isModule(value)) {
        visit(value.toObject());
      } else if (auto changed = rewritten(value)) {
        edits.values[type->getAttributeName(slot)] = std::move(*changed);
      }
    }
    for (Function* method : type->methods()) {
      if (needsRewriting(*method)) edits.methods[method->name()] = {{method->name(), {bodyEdit()}}};
    }
  }

  // nullopt: no tensor inside. Objects stay what they are.
  std::optional<c10::IValue> rewritten(const c10::IValue& value) {
    c10::IValue::HashIdentityIValueMap copies;
    bool any = false;
    value.visit([&](const c10::IValue& inner) {
      if (inner.isObject()) copies.try_emplace(inner, inner);
      if (!inner.isTensor()) return inner.isObject();
      any = true;
      if (!copies.contains(inner)) copies.emplace(inner, twins_.of(inner.toTensor()));
      return true;
    });
    return any ? std::optional(value.deepcopy(copies)) : std::nullopt;
  }

  bool needsRewriting(Function& function) {
    auto* body = torch::jit::tryToGraphFunction(function);
    if (body == nullptr) return false;
    body->ensure_defined();
    return rules_.code || holdsTensors(*body->graph()->block());
  }

  bool holdsTensors(Block& block) {
    bool any = false;
    eachNode(block,
             [&](Node& node) { any = any || (node.kind() == c10::prim::Constant && constantHoldsTensors(node)); });
    return any;
  }

  bool constantHoldsTensors(Node& node) {
    if (const auto type = node.output()->type()->cast<c10::FunctionType>()) return needsRewriting(*type->function());
    const auto value = torch::jit::toIValue(node.output());
    return value && (value->isTensor() || value->isTensorList() || value->isTuple() || value->isGenericDict());
  }

  BodyEdit bodyEdit() {
    return {"rewrite", [this](GraphCopy& copy) {
              rewriteConstants(*copy.graph()->block());
              if (rules_.code) rules_.code(*copy.graph());
            }};
  }

  void rewriteConstants(Block& block) {
    eachNode(block, [&](Node& node) {
      if (node.kind() == c10::prim::Constant) rewriteConstant(node);
      if (node.hasAttribute(c10::attr::Subgraph)) node.g_(c10::attr::Subgraph, node.g(c10::attr::Subgraph)->copy());
    });
  }

  void rewriteConstant(Node& node) {
    if (const auto type = node.output()->type()->cast<c10::FunctionType>()) {
      if (needsRewriting(*type->function()))
        node.output()->setType(c10::FunctionType::create(functionTwin(*type->function())));
      return;
    }
    if (!node.hasAttribute(c10::attr::value)) return;
    if (node.kindOf(c10::attr::value) == torch::jit::AttributeKind::t) {
      node.t_(c10::attr::value, twins_.of(node.t(c10::attr::value)));
      node.output()->inferTypeFrom(node.t(c10::attr::value));
    } else if (node.kindOf(c10::attr::value) == torch::jit::AttributeKind::ival) {
      if (auto changed = rewritten(node.ival(c10::attr::value))) node.ival_(c10::attr::value, *changed);
    }
  }

  Function* functionTwin(Function& original) {
    const auto known = functions_.find(&original);
    if (known != functions_.end()) return known->second;
    const auto old = module_._ivalue()->compilation_unit();
    return functions_[&original] = copyFunction(*unit_, *old, original, {bodyEdit()});
  }

  const torch::jit::Module& module_;
  const RewriteRules& rules_;
  TensorTwins twins_;
  std::shared_ptr<torch::jit::CompilationUnit> unit_;
  EditsByInstance edits_;
  std::unordered_set<const c10::ivalue::Object*> seen_;
  std::unordered_map<Function*, Function*> functions_;
};

}  // namespace

torch::jit::Module rewriteTensors(const torch::jit::Module& module, const RewriteRules& rules) {
  const torch::NoGradGuard noGradients;
  return Rewriter(module, rules).run();
}

}  // namespace normlens::formats::torchscript
