#include "core/formats/torchscript/program/hidden_calls.h"

#include <torch/csrc/jit/api/function_impl.h>

#include <algorithm>
#include <set>
#include <vector>

#include "core/formats/torchscript/program/each_node.h"

namespace normlens::formats::torchscript {
namespace {

namespace prim = c10::prim;
using torch::jit::Function;
using torch::jit::Node;

class HiddenWrites {
 public:
  explicit HiddenWrites(const ModuleIndex& index) : index_(index) {}

  bool mayWrite(const Node& node) {
    if (!runsHiddenCode(node)) {
      const auto* schema = node.maybeSchema();
      return schema != nullptr && schema->is_mutable();
    }
    const std::vector<Function*> functions = calledBy(node);
    return functions.empty() || std::ranges::any_of(functions, [&](Function* each) { return bodyMayWrite(each); });
  }

 private:
  // Empty where it is not known what is called.
  [[nodiscard]] std::vector<Function*> calledBy(const Node& node) const {
    const auto& type = node.input(0)->type();
    if (node.kind() == prim::CallFunction) {
      const auto function = type->cast<c10::FunctionType>();
      return function ? std::vector{function->function()} : std::vector<Function*>();
    }
    if (node.kind() != prim::CallMethod) return {methodOfWith(node)};
    const std::string& name = node.s(c10::attr::name);
    if (const auto owner = type->cast<c10::ClassType>()) return {owner->findMethod(name)};
    std::vector<Function*> functions;
    for (const ObjectPtr& object : index_.instancesOf(*type)) functions.push_back(object->type()->findMethod(name));
    return functions;
  }

  bool bodyMayWrite(Function* function) {
    auto* body = function == nullptr ? nullptr : torch::jit::tryToGraphFunction(*function);
    if (body == nullptr) return true;
    if (!entered_.insert(function).second) return false;
    bool writes = false;
    eachNode(*body->graph()->block(), [&](const Node& node) { writes = writes || mayWrite(node); });
    return writes;
  }

  const ModuleIndex& index_;
  std::set<const Function*> entered_;
};

}  // namespace

bool runsHiddenCode(const Node& node) {
  const auto kind = node.kind();
  return kind == prim::CallMethod || kind == prim::CallFunction || kind == prim::Enter || kind == prim::Exit;
}

bool hiddenCodeMayWrite(const Node& node, const ModuleIndex& index) { return HiddenWrites(index).mayWrite(node); }

Function* methodOfWith(const Node& node) {
  const auto owner = node.input(0)->type()->cast<c10::ClassType>();
  return owner ? owner->findMethod(node.kind() == prim::Enter ? "__enter__" : "__exit__") : nullptr;
}

}  // namespace normlens::formats::torchscript
