#include "core/formats/torchscript/edit/apply_module_copy.h"

#include <torch/csrc/jit/api/function_impl.h>

#include <limits>

#include "core/formats/torchscript/edit/apply_new_nodes.h"
#include "core/formats/torchscript/program/each_node.h"
#include "core/formats/torchscript/program/module_index.h"

namespace normlens::formats::torchscript {
namespace {

using torch::jit::Block;
using torch::jit::CompilationUnit;
using torch::jit::Function;
using torch::jit::Graph;
using torch::jit::Node;

constexpr size_t kUnchanged = std::numeric_limits<size_t>::max();

void retypeBlock(Block* block);

// Types of module values, from the classes that the modules have in the copy.
void retypeNode(Node* node) {
  for (Block* inner : node->blocks()) retypeBlock(inner);
  switch (node->kind()) {
    case c10::prim::GetAttr: {
      const auto owner = node->input()->type()->cast<c10::ClassType>();
      if (owner && owner->is_module()) node->output()->setType(owner->getAttribute(node->s(c10::attr::name)));
      break;
    }
    case c10::prim::If:
      for (size_t i = 0; i < node->outputs().size(); ++i) {
        const auto type = node->blocks()[0]->outputs()[i]->type();
        const auto module = type->cast<c10::ClassType>();
        if (!module || !module->is_module()) continue;
        if (*type != *node->blocks()[1]->outputs()[i]->type()) {
          throw EditRefused("a submodule is chosen at run time among modules of which only some would change");
        }
        node->output(i)->setType(type);
      }
      break;
    case c10::prim::fork:
    case c10::prim::Closure:
      if (node->hasAttribute(c10::attr::Subgraph)) {
        const auto body = node->g(c10::attr::Subgraph)->copy();
        for (size_t i = 0; i < node->inputs().size() && i < body->inputs().size(); ++i) {
          body->inputs()[i]->setType(node->input(i)->type());
        }
        retypeBlock(body->block());
        node->g_(c10::attr::Subgraph, body);
      }
      break;
    default:
      break;
  }
}

void retypeBlock(Block* block) {
  for (Node* node : block->nodes()) retypeNode(node);
}

// A call's body has the types of the file: a module whose class is another by now would not be taken there.
void refuseChangedArguments(Block* block, const CompilationUnit* unit) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) refuseChangedArguments(inner, unit);
    if (node->kind() != c10::prim::CallMethod && node->kind() != c10::prim::CallFunction) continue;
    for (size_t i = 1; i < node->inputs().size(); ++i) {
      const auto type = node->input(i)->type()->cast<c10::ClassType>();
      if (type && type->is_module() && type->compilation_unit().get() == unit)
        throw EditRefused("a submodule that would change is handed to another one's method as an argument");
    }
  }
}

// A method of `self`, or a function, under this name in `unit`.
Function* copyBody(CompilationUnit& unit, Function& original, const c10::ClassTypePtr& self,
                   const c10::QualifiedName& name, const std::vector<BodyEdit>& edits) {
  original.ensure_defined();
  GraphCopy body(torch::jit::toGraphFunction(original).graph());
  for (const auto& edit : edits) edit.run(body);
  if (self) {
    body.graph()->inputs()[0]->setType(self);
    retypeBlock(body.graph()->block());
    refuseChangedArguments(body.graph()->block(), self->compilation_unit().get());
  }
  Function* copy = unit.create_function(name, body.graph());
  if (body.hasNewSignature()) return copy;
  const auto& schema = original.getSchema();
  std::vector<c10::Argument> arguments = schema.arguments();
  if (self && !arguments.empty()) arguments[0] = arguments[0].cloneWithType(self);
  copy->setSchema(schema.cloneWithArguments(std::move(arguments)).cloneWithName(name.name(), schema.overload_name()));
  return copy;
}

// A name that is free in both units, in torch's own way of keeping equal names apart.
c10::QualifiedName mangled(const CompilationUnit& fresh, const CompilationUnit* old, const c10::QualifiedName& name) {
  c10::QualifiedName candidate = name;
  torch::jit::NameMangler mangler;
  const auto taken = [&](const CompilationUnit* unit) {
    return unit != nullptr && (unit->get_type(candidate) || unit->find_function(candidate) != nullptr);
  };
  while (taken(&fresh) || taken(old)) candidate = mangler.mangle(candidate);
  return candidate;
}

bool callsNorm(Graph& graph) {
  bool calls = false;
  eachNode(*graph.block(), [&](Node& node) {
    calls = calls || isLayerNormOp(node);
    if (node.kind() != c10::prim::CallFunction) return;
    Function* callee = node.input(0)->type()->expectRef<c10::FunctionType>().function();
    callee->ensure_defined();
    calls = calls || (callee->isGraphFunction() && callsNorm(*torch::jit::toGraphFunction(*callee).graph()));
  });
  return calls;
}

// As torch.nn.RMSNorm has it: the module's weight, nothing before or after.
bool isRmsNorm(Graph& graph, const c10::ClassType& type) {
  const Node* norm = graph.outputs().size() == 1 ? graph.outputs()[0]->node() : nullptr;
  if (norm == nullptr || norm->kind() != c10::Symbol::fromQualString("aten::rms_norm")) return false;
  const torch::jit::Value *x = norm->input(0), *weight = norm->input(2);
  if (graph.inputs().size() != 2 || x != graph.inputs()[1]) return false;
  if (weight->mustBeNone()) return !type.hasAttribute("weight");
  return weight->node()->kind() == c10::prim::GetAttr && weight->node()->input() == graph.inputs()[0] &&
         weight->node()->s(c10::attr::name) == "weight";
}

class ModuleCopier {
 public:
  ModuleCopier(std::shared_ptr<CompilationUnit> unit, const EditsByInstance& edits)
      : unit_(std::move(unit)), edits_(edits) {}

  torch::jit::Module copy(const torch::jit::Module& module) {
    classify(module._ivalue());
    for (auto& copied : classes_) {
      const auto* original = copied.original.get();
      const bool keepName = !inUse_[original];
      inUse_[original] = true;  // a second copy of the same class needs a name of its own
      makeClass(copied, keepName);
    }
    return {copyObject(module._ivalue())};
  }

 private:
  using ClassId = size_t;
  struct CopiedClass {
    c10::ClassTypePtr original;
    const c10::ivalue::Object* instance = nullptr;  // one of those that get it
    c10::ClassTypePtr copy;
  };

  [[nodiscard]] const InstanceEdits& editsOf(const c10::ivalue::Object& object) const {
    static const InstanceEdits none;
    const auto found = edits_.find(&object);
    return found == edits_.end() ? none : found->second;
  }

  ClassId classify(const ObjectPtr& object) {
    const auto known = classOf_.find(object.get());
    if (known != classOf_.end()) return known->second;
    classOf_[object.get()] = kUnchanged;  // stops at a cycle
    const std::string signature = signatureFor(object);
    ClassId id = kUnchanged;
    if (signature.empty()) {
      inUse_[object->type().get()] = true;
    } else {
      const auto [found, isNew] = classBySignature_.try_emplace(signature, classes_.size());
      id = found->second;
      if (isNew) classes_.push_back({object->type(), object.get(), nullptr});
    }
    classOf_[object.get()] = id;
    return id;
  }

  // Empty: nothing that the class states changes.
  std::string signatureFor(const ObjectPtr& object) {
    const auto& edits = editsOf(*object);
    std::string changes;
    for (const auto& [name, variants] : edits.methods) {
      for (const auto& variant : variants) {
        const auto code = signatureOf(variant.edits);
        if (variant.name != name || !code.empty())
          changes += "method " + name + " " + variant.name + ": " + code + "\n";
      }
    }
    for (const auto& attribute : edits.added) changes += "attribute " + attribute.name + "\n";
    for (size_t slot = 0; slot < object->slots().size(); ++slot) {
      const auto& value = object->getSlot(slot);
      if (!isModule(value)) continue;
      const auto child = classify(value.toObject());
      if (child != kUnchanged) changes += "child " + std::to_string(slot) + " " + std::to_string(child) + "\n";
    }
    return changes.empty() ? changes : signature(object->type().get()) + changes;
  }

  [[nodiscard]] c10::TypePtr attributeType(const CopiedClass& copied, size_t slot) const {
    const auto& declared = copied.original->getAttribute(slot);
    const auto& value = copied.instance->getSlot(slot);
    if (!isModule(value) || !declared->cast<c10::ClassType>()) return declared;
    const auto child = classOf_.at(&value.toObjectRef());
    return child == kUnchanged ? declared : c10::TypePtr(classes_[child].copy);
  }

  // A class that is named after a norm op which its code no longer calls would mislead those who go by the name, as
  // pnnx does with torch's own classes.
  [[nodiscard]] c10::QualifiedName nameFor(const CopiedClass& copied) const {
    const auto& name = *copied.original->name();
    if ((name.name() != "LayerNorm" && name.name() != "GroupNorm") || name.prefix().empty()) return name;
    const auto& methods = editsOf(*copied.instance).methods;
    const auto edited = methods.find("forward");
    if (edited == methods.end() || edited->second.size() != 1) return name;
    auto& forward = torch::jit::toGraphFunction(copied.original->getMethod("forward"));
    GraphCopy body(forward.graph());
    for (const auto& edit : edited->second[0].edits) edit.run(body);
    if (!callsNorm(*forward.graph()) || callsNorm(*body.graph())) return name;
    const bool same = isRmsNorm(*body.graph(), *copied.original);
    return c10::QualifiedName(c10::QualifiedName(name.prefix()), same ? "RMSNorm" : "FoldedRMSNorm");
  }

  [[nodiscard]] c10::QualifiedName freeName(const CopiedClass& copied, bool keepName) const {
    const auto name = nameFor(copied);
    if (keepName && name == *copied.original->name() && !unit_->get_type(name)) return name;
    const auto old = copied.original->compilation_unit();
    return mangled(*unit_, old.get(), name);
  }

  void makeClass(CopiedClass& copied, bool keepName) {
    const auto& original = copied.original;
    copied.copy =
        c10::ClassType::create(freeName(copied, keepName), unit_, original->is_module(), original->doc_string());
    for (size_t slot = 0; slot < original->numAttributes(); ++slot) {
      copied.copy->addAttribute(original->getAttributeName(slot), attributeType(copied, slot),
                                original->is_parameter(slot), original->is_buffer(slot));
    }
    for (const auto& attribute : editsOf(*copied.instance).added) {
      copied.copy->addAttribute(attribute.name, c10::TensorType::get(), attribute.parameter, !attribute.parameter);
    }
    for (size_t i = 0; i < original->numConstants(); ++i) {
      copied.copy->addConstant(original->getConstantName(i), original->getConstant(i));
    }
    unit_->register_type(copied.copy);
    copyMethods(copied);
  }

  void copyMethods(CopiedClass& copied) {
    const auto& edits = editsOf(*copied.instance);
    const auto& type = copied.copy;
    std::unordered_map<Function*, Function*> twins;
    const auto copyAs = [&](Function* original, const std::string& name, const std::vector<BodyEdit>& changes) {
      return copyBody(*unit_, *original, type, c10::QualifiedName(*type->name(), name), changes);
    };
    for (Function* method : copied.original->methods()) {
      const auto edited = edits.methods.find(method->name());
      const std::vector<MethodVariant> unchanged = {{method->name(), {}}};
      for (const auto& variant : edited == edits.methods.end() ? unchanged : edited->second) {
        Function* twin = copyAs(method, variant.name, variant.edits);
        type->addMethod(twin);
        if (variant.name == method->name()) twins[method] = twin;
      }
    }
    const auto twinOf = [&](Function* original) -> Function* {
      if (original == nullptr) return nullptr;
      Function*& twin = twins[original];
      if (twin == nullptr) twin = copyAs(original, original->name(), {});
      return twin;
    };
    for (const auto& property : copied.original->properties()) {
      Function* getter = twinOf(property.getter);
      type->addProperty(property.name, getter, twinOf(property.setter));
    }
    for (Function* hook : copied.original->getForwardPreHooks()) type->addForwardPreHook(twinOf(hook));
    for (Function* hook : copied.original->getForwardHooks()) type->addForwardHook(twinOf(hook));
  }

  ObjectPtr copyObject(const ObjectPtr& object) {
    ObjectPtr& copied = objects_[object.get()];
    if (copied) return copied;
    const ClassId id = classOf_.at(object.get());
    const auto type = id == kUnchanged ? object->type() : classes_[id].copy;
    const auto unit = id == kUnchanged ? object->compilation_unit() : unit_;
    const ObjectPtr made = c10::ivalue::Object::create(c10::StrongTypePtr(unit, type), type->numAttributes());
    copied = made;  // the map may grow below
    const auto& edits = editsOf(*object);
    for (size_t slot = 0; slot < object->slots().size(); ++slot) {
      const auto replaced = edits.values.find(object->type()->getAttributeName(slot));
      made->setSlot(slot, replaced != edits.values.end() ? replaced->second : copyValue(object->getSlot(slot)));
    }
    size_t slot = object->type()->numAttributes();
    for (const auto& attribute : edits.added) made->setSlot(slot++, attribute.tensor);
    return made;
  }

  c10::IValue copyValue(const c10::IValue& value) {
    return isModule(value) ? c10::IValue(copyObject(value.toObject())) : value;
  }

  std::shared_ptr<CompilationUnit> unit_;
  const EditsByInstance& edits_;
  std::unordered_map<const c10::ivalue::Object*, ClassId> classOf_;
  std::unordered_map<std::string, ClassId> classBySignature_;
  std::vector<CopiedClass> classes_;                       // submodules' classes before those that hold them
  std::unordered_map<const c10::ClassType*, bool> inUse_;  // original classes that some instance keeps
  std::unordered_map<const c10::ivalue::Object*, ObjectPtr> objects_;
};

}  // namespace

torch::jit::Module copyModule(const torch::jit::Module& module, const std::shared_ptr<CompilationUnit>& unit,
                              const EditsByInstance& edits) {
  return ModuleCopier(unit, edits).copy(module);
}

Function* copyFunction(CompilationUnit& unit, const CompilationUnit& old, Function& original,
                       const std::vector<BodyEdit>& edits) {
  return copyBody(unit, original, nullptr, mangled(unit, &old, original.qualname()), edits);
}

}  // namespace normlens::formats::torchscript
