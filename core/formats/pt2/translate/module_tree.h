// The modules of an exported program, made anew from the names of its tensors and from what its nodes state of modules.
// Private to formats/pt2: includes torch.
#pragma once

#include <torch/script.h>

#include <map>
#include <memory>
#include <string>

#include "core/formats/pt2/file/node_place.h"
#include "core/formats/pt2/file/signature.h"

namespace normlens::formats::pt2 {

class ModuleTree {
 public:
  // `classes`: of the modules, by path; a path that is not in it has a class whose name means nothing.
  explicit ModuleTree(std::map<std::string, std::string> classes);

  // Throws BrokenDocument where the path is a module's, or goes through a tensor.
  void add(const HeldTensor& held, const at::Tensor& tensor);
  // All modules of which a class is known, those without a tensor too.
  void addKnown();

  [[nodiscard]] torch::jit::Module& root() { return modules_.at(""); }
  // The attributes from the root to a tensor or module, "a.b" one after the other.
  [[nodiscard]] static std::vector<std::string> partsOf(const std::string& path);

 private:
  torch::jit::Module& at(const std::string& path);
  torch::jit::Module made(const std::string& path);

  std::map<std::string, std::string> classes_;
  std::shared_ptr<torch::jit::CompilationUnit> unit_;
  std::map<std::string, torch::jit::Module> modules_;
};

}  // namespace normlens::formats::pt2
