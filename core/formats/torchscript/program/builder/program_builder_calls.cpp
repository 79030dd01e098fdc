// The part of the walk that enters calls, and finds out whom a call may reach that it cannot enter.
#include <torch/csrc/jit/api/function_impl.h>

#include "core/formats/torchscript/program/builder/program_builder.h"

namespace normlens::formats::torchscript {
namespace {

namespace prim = c10::prim;
using torch::jit::Node;

// Submodules of a ModuleList or ModuleDict.
std::vector<ObjectPtr> submodulesOf(const c10::ivalue::Object& container) {
  std::vector<ObjectPtr> submodules;
  for (const c10::IValue& slot : container.slots()) {
    if (slot.isObject()) submodules.push_back(slot.toObject());
  }
  return submodules;
}

}  // namespace

bool ProgramBuilder::isForward(const c10::ivalue::Object& self, const std::string& method) const {
  return &self == module_._ivalue().get() && method == "forward";
}

std::vector<ObjectPtr> ProgramBuilder::instancesBehind(int value) const {
  const ProgramValue& at = program_.value(value);
  if (at.known) return at.known->isObject() ? std::vector{at.known->toObject()} : std::vector<ObjectPtr>();
  const ProgramNode* made = at.producer == kNone ? nullptr : &program_.node(at.producer);
  std::vector<ObjectPtr> found;
  const auto append = [&](const std::vector<ObjectPtr>& more) { found.insert(found.end(), more.begin(), more.end()); };
  if (made != nullptr && made->node->kind() == prim::ModuleContainerIndex) {
    for (const ObjectPtr& container : instancesBehind(made->inputs[0])) append(submodulesOf(*container));
  } else if (made != nullptr && made->node->kind() == prim::If) {
    for (const int block : made->blocks)
      append(instancesBehind(program_.block(block).returns[static_cast<size_t>(at.output)]));
  } else if (made == nullptr || made->node->kind() != prim::CreateObject) {
    append(index_.instancesOf(*at.value->type()));
  }
  return found;
}

bool ProgramBuilder::walkCallMethod(Node* node, int frame, int block) {
  const Values arguments = lookUpAll(node->inputs(), frame);
  const auto& object = knownOf(arguments[0]);
  const std::string& name = node->s(c10::attr::name);
  if (!object || !object->isObject()) {
    for (const ObjectPtr& self : instancesBehind(arguments[0])) chosen_.insert({self, name});
    return false;
  }
  const ObjectPtr self = object->toObject();
  // Another method that calls forward(): the model's results stay, what is below may change.
  if (!ofForward_ && isForward(*self, name)) return false;
  torch::jit::Function* function = self->type()->findMethod(name);
  auto* body = function == nullptr ? nullptr : torch::jit::tryToGraphFunction(*function);
  if (body == nullptr) return false;
  const Frame callee{frame, node, self, index_.pathOf(*self), shortClassName(*self), name, body->graph()};
  bindOutputs(node, frame, enter(callee, arguments, block));
  return true;
}

bool ProgramBuilder::walkCallFunction(Node* node, int frame, int block) {
  const auto type = node->input(0)->type()->cast<c10::FunctionType>();
  auto* body = type ? torch::jit::tryToGraphFunction(*type->function()) : nullptr;
  if (body == nullptr) return false;
  const Frame& caller = program_.frame(frame);
  const Frame callee{frame, node, nullptr, caller.path, caller.className, body->name(), body->graph()};
  bindOutputs(node, frame, enter(callee, lookUpAll(node->inputs().slice(1), frame), block));
  return true;
}

// A fork's body runs at the place of the fork.
bool ProgramBuilder::walkFork(Node* node, int frame, int block) {
  if (!node->hasAttribute(c10::attr::Subgraph) || node->outputs().size() != 1) return false;
  const auto body = node->g(c10::attr::Subgraph);
  if (body->outputs().size() != 1) return false;
  const Frame& caller = program_.frame(frame);
  const Frame callee{frame, node, nullptr, caller.path, caller.className, "fork", body};
  bindOutputs(node, frame, enter(callee, lookUpAll(node->inputs(), frame), block));
  return true;
}

}  // namespace normlens::formats::torchscript
