// A module in memory, copied with edits. Private to formats/torchscript: includes torch.
//
// Every module instance is copied (tensors are shared). A class is copied only for instances whose code, attributes or
// submodules' classes differ from the original's; instances with equal edits share the copy. A copied class keeps its
// name where no instance of the original class is left, so that the file's code records keep theirs.
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

// Copied classes and functions live in `unit`. Throws EditRefused, c10::Error.
[[nodiscard]] torch::jit::Module copyModule(const torch::jit::Module& module,
                                            const std::shared_ptr<torch::jit::CompilationUnit>& unit,
                                            const EditsByInstance& edits);

// Copies a free function into `unit` under a name that neither `unit` nor `old` uses.
[[nodiscard]] torch::jit::Function* copyFunction(torch::jit::CompilationUnit& unit,
                                                 const torch::jit::CompilationUnit& old, torch::jit::Function& original,
                                                 const std::vector<BodyEdit>& edits);

}  // namespace normlens::formats::torchscript
