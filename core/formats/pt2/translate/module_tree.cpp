#include "core/formats/pt2/translate/module_tree.h"

#include <algorithm>

namespace normlens::formats::pt2 {
namespace {

constexpr size_t kMostParts = 64;

// A class name that TorchScript's printer can write.
std::string identifier(const std::string& name, const char* otherwise) {
  std::string made;
  for (const unsigned char c : name) made += std::isalnum(c) != 0 ? static_cast<char>(c) : '_';
  return made.empty() || std::isdigit(static_cast<unsigned char>(made[0])) != 0 ? otherwise + made : made;
}

}  // namespace

ModuleTree::ModuleTree(std::map<std::string, std::string> classes)
    : classes_(std::move(classes)), unit_(std::make_shared<torch::jit::CompilationUnit>()) {
  modules_.emplace("", made(""));
}

torch::jit::Module ModuleTree::made(const std::string& path) {
  const auto known = classes_.find(path);
  const std::string name = identifier(known == classes_.end() ? "" : known->second, path.empty() ? "Model" : "Module");
  return {c10::QualifiedName("__torch__." + name), unit_, /*shouldMangle=*/true};
}

std::vector<std::string> ModuleTree::partsOf(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t start = 0; start <= path.size() && !path.empty();) {
    const size_t dot = std::min(path.find('.', start), path.size());
    if (dot == start) throw BrokenDocument("the name '" + path.substr(0, 80) + "' has an empty part");
    parts.push_back(path.substr(start, dot - start));
    start = dot + 1;
  }
  if (parts.size() > kMostParts) throw BrokenDocument("a name has more than 64 parts");
  return parts;
}

torch::jit::Module& ModuleTree::at(const std::string& path) {
  const auto found = modules_.find(path);
  if (found != modules_.end()) return found->second;
  const size_t dot = path.rfind('.');
  torch::jit::Module& parent = at(dot == std::string::npos ? "" : path.substr(0, dot));
  const std::string name = dot == std::string::npos ? path : path.substr(dot + 1);
  if (parent.hasattr(name)) throw BrokenDocument("'" + path.substr(0, 80) + "' is a tensor and a module");
  torch::jit::Module child = made(path);
  parent.register_module(name, child);
  return modules_.emplace(path, std::move(child)).first->second;
}

void ModuleTree::add(const HeldTensor& held, const at::Tensor& tensor) {
  static_cast<void>(partsOf(held.fqn));
  const size_t dot = held.fqn.rfind('.');
  torch::jit::Module& module = at(dot == std::string::npos ? "" : held.fqn.substr(0, dot));
  const std::string name = dot == std::string::npos ? held.fqn : held.fqn.substr(dot + 1);
  if (module.hasattr(name)) throw BrokenDocument("'" + held.fqn.substr(0, 80) + "' is there twice");
  if (held.kind == HeldTensor::Kind::Parameter) {
    module.register_parameter(name, tensor, /*is_buffer=*/false);
  } else {
    module.register_buffer(name, tensor);
  }
}

void ModuleTree::addKnown() {
  for (const auto& [path, name] : classes_) {
    const size_t dot = path.rfind('.');
    const auto parent = modules_.find(dot == std::string::npos ? "" : path.substr(0, dot));
    const std::string attribute = dot == std::string::npos ? path : path.substr(dot + 1);
    // Told by metadata alone: where it does not fit what the file holds, that counts.
    if (path.empty() || modules_.contains(path)) continue;
    if (parent != modules_.end() && parent->second.hasattr(attribute)) continue;
    try {
      static_cast<void>(partsOf(path));
      static_cast<void>(at(path));
    } catch (const BrokenDocument&) {
      continue;
    }
  }
}

}  // namespace normlens::formats::pt2
