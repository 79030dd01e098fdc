// A module in memory, copied with edits. Private to formats/torchscript: includes torch.
//
// Every module instance is copied (tensors are shared). A class is copied only for instances whose code, attributes or
// submodules' classes differ from the original's; instances with equal edits share the copy. A copied class keeps its
// name where no instance of the original class is left, so that the file's code records keep theirs.
// Thread: one thread per copier. Errors: throws EditRefused and c10::Error.
#pragma once

#include <torch/script.h>

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/formats/torchscript/edit/apply_graph_copy.h"
#include "core/formats/torchscript/program/program.h"

namespace normlens::formats::torchscript {

struct NewAttribute {
  std::string name;
  at::Tensor tensor;
  bool parameter = false;
};

// One method as the copied class has it.
struct MethodVariant {
  std::string name;
  std::vector<BodyEdit> edits;
};

struct InstanceEdits {
  std::map<std::string, std::vector<MethodVariant>> methods;  // by the original's name; absent: one, unchanged
  std::vector<NewAttribute> added;
  std::map<std::string, c10::IValue> values;  // attributes that hold something else
};
using EditsByInstance = std::unordered_map<const c10::ivalue::Object*, InstanceEdits>;

class ModuleCopier {
 public:
  // Copied classes and functions live in `unit`.
  ModuleCopier(std::shared_ptr<torch::jit::CompilationUnit> unit, const EditsByInstance& edits);

  [[nodiscard]] torch::jit::Module copy(const torch::jit::Module& module);

 private:
  using ClassId = size_t;
  struct CopiedClass {
    c10::ClassTypePtr original;
    const c10::ivalue::Object* instance = nullptr;  // one of those that get it
    c10::ClassTypePtr copy;
  };

  [[nodiscard]] const InstanceEdits& editsOf(const c10::ivalue::Object& object) const;
  // Classes first, bottom-up; kUnchanged where the original's serves.
  ClassId classify(const ObjectPtr& object);
  [[nodiscard]] std::string signatureFor(const ObjectPtr& object);
  void makeClass(CopiedClass& copied, bool keepName);
  void copyMethods(CopiedClass& copied);
  void copyHooks(CopiedClass& copied);
  torch::jit::Function* copyBody(torch::jit::Function& original, const c10::ClassTypePtr& self, const std::string& name,
                                 const std::vector<BodyEdit>& edits);
  [[nodiscard]] c10::TypePtr attributeType(const CopiedClass& copied, size_t slot) const;
  [[nodiscard]] c10::QualifiedName freeName(const c10::ClassTypePtr& original, bool keepName) const;
  ObjectPtr copyObject(const ObjectPtr& object);
  c10::IValue copyValue(const c10::IValue& value);

  std::shared_ptr<torch::jit::CompilationUnit> unit_;
  const EditsByInstance& edits_;
  std::unordered_map<const c10::ivalue::Object*, ClassId> classOf_;
  std::unordered_map<std::string, ClassId> classBySignature_;
  std::vector<CopiedClass> classes_;                       // submodules' classes before those that hold them
  std::unordered_map<const c10::ClassType*, bool> inUse_;  // original classes that some instance keeps
  std::unordered_map<const c10::ivalue::Object*, ObjectPtr> objects_;
};

// Copies a free function into `unit` under a name that neither `unit` nor `old` uses.
[[nodiscard]] torch::jit::Function* copyFunction(torch::jit::CompilationUnit& unit,
                                                 const torch::jit::CompilationUnit& old, torch::jit::Function& original,
                                                 const std::vector<BodyEdit>& edits);

}  // namespace normlens::formats::torchscript
