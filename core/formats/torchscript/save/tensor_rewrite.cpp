#include "core/formats/torchscript/save/tensor_rewrite.h"

#include <torch/csrc/jit/api/function_impl.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

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
        tensor.is_complex()) {
      return tensor;
    }
    if (!tensor.is_floating_point() && !rules_.copyOthers) return tensor;
    const auto& memory = memoryOf(tensor);
    at::Tensor twin =
        at::empty({0}, memory.content.options())
            .set_(memory.content.storage(), memory.own ? memory.content.storage_offset() : tensor.storage_offset(),
                  tensor.sizes(), memory.own ? memory.strides : tensor.strides().vec());
    if (twin.is_floating_point()) twin.set_requires_grad(tensor.requires_grad());
    return twin;
  }

 private:
  struct Memory {
    at::Tensor content;            // dense vector
    bool own = false;              // content is this view's elements only
    std::vector<int64_t> strides;  // of the view in `content`, if own
  };

  const Memory& memoryOf(const at::Tensor& tensor) {
    const auto item = static_cast<int64_t>(tensor.element_size());
    const auto elements = static_cast<int64_t>(tensor.storage().nbytes()) / item;
    // A small window into a large storage is copied by itself, unless writing to one view may have to show in another.
    const bool own = !rules_.copyOthers && elements > 2 * tensor.numel() + 64;
    const std::string key = (own ? "view " + memoryKey(tensor) : "") + "|" +
                            idOf(tensor.storage().unsafeGetStorageImpl()) + "|" +
                            std::to_string(static_cast<int>(tensor.scalar_type()));
    auto [found, isNew] = memories_.try_emplace(key);
    if (!isNew) return found->second;
    const auto flat =
        own ? tensor.detach().contiguous().view({-1})
            : at::empty({0}, tensor.options().requires_grad(false)).set_(tensor.storage(), 0, {elements}, {1});
    found->second.content = tensor.is_floating_point() ? rules_.memory(flat) : flat.clone();
    found->second.own = own;
    if (own) found->second.strides = tensor.contiguous().strides().vec();
    return found->second;
  }

  const RewriteRules& rules_;
  std::map<std::string, Memory> memories_;
};

class Rewriter {
 public:
  Rewriter(const torch::jit::Module& module, const RewriteRules& rules)
      : module_(module), rules_(rules), twins_(rules), unit_(std::make_shared<torch::jit::CompilationUnit>()) {}

  torch::jit::Module run() {
    visit(module_._ivalue());
    return ModuleCopier(unit_, edits_).copy(module_);
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

  // nullopt: no tensor inside.
  std::optional<c10::IValue> rewritten(const c10::IValue& value) {
    if (value.isTensor()) return c10::IValue(twins_.of(value.toTensor()));
    if (value.isTensorList()) {
      c10::List<at::Tensor> out;
      for (const at::Tensor& element : value.toTensorVector()) out.push_back(twins_.of(element));
      return out;
    }
    if (value.isTuple()) return rewrittenTuple(value);
    if (value.isGenericDict()) return rewrittenDict(value);
    return std::nullopt;
  }

  std::optional<c10::IValue> rewrittenTuple(const c10::IValue& value) {
    auto elements = value.toTupleRef().elements().vec();
    bool any = false;
    for (auto& element : elements) {
      if (auto changed = rewritten(element)) {
        element = std::move(*changed);
        any = true;
      }
    }
    if (!any) return std::nullopt;
    const auto type = value.type()->cast<c10::TupleType>();
    return type && type->name() ? c10::ivalue::Tuple::createNamed(std::move(elements), type)
                                : c10::ivalue::Tuple::create(std::move(elements));
  }

  std::optional<c10::IValue> rewrittenDict(const c10::IValue& value) {
    const auto dict = value.toGenericDict();
    auto out = dict.copy();
    bool any = false;
    for (const auto& entry : dict) {
      if (auto changed = rewritten(entry.value())) {
        out.insert_or_assign(entry.key(), std::move(*changed));
        any = true;
      }
    }
    return any ? std::optional<c10::IValue>(out) : std::nullopt;
  }

  bool needsRewriting(Function& function) {
    auto* body = torch::jit::tryToGraphFunction(function);
    if (body == nullptr) return false;
    body->ensure_defined();
    return rules_.code || holdsTensors(*body->graph()->block());
  }

  bool holdsTensors(Block& block) {
    for (Node* node : block.nodes()) {
      if (node->kind() == c10::prim::Constant && constantHoldsTensors(*node)) return true;
      if (node->hasAttribute(c10::attr::Subgraph) && holdsTensors(*node->g(c10::attr::Subgraph)->block())) return true;
      const auto blocks = node->blocks();
      if (std::any_of(blocks.begin(), blocks.end(), [&](Block* inner) { return holdsTensors(*inner); })) return true;
    }
    return false;
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
