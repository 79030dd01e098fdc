// Every module instance of a loaded model with its path, and every place that holds a tensor.
//
// A shared submodule keeps the first path it is met under. Private to formats/torchscript: includes torch.
#pragma once

#include <torch/script.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "core/formats/torchscript/program/program.h"

namespace normlens::formats::torchscript {

// Two tensors with the same key are the same memory seen the same way.
[[nodiscard]] std::string memoryKey(const at::Tensor& tensor);

[[nodiscard]] inline bool isModule(const c10::IValue& value) {
  return value.isObject() && value.toObjectRef().type()->is_module();
}

class ModuleIndex {
 public:
  explicit ModuleIndex(const torch::jit::Module& module);

  // Path of a module instance; "?" for an object that is no part of the model.
  [[nodiscard]] const std::string& pathOf(const c10::ivalue::Object& object) const;
  // All attribute sites that hold this memory; empty if none does.
  [[nodiscard]] const std::vector<TensorSite>& sitesOf(const at::Tensor& tensor) const;
  // Instances that a value of this type may be.
  [[nodiscard]] std::vector<ObjectPtr> instancesOf(const c10::Type& type) const;
  // The attributes that are this container or hold it inside.
  [[nodiscard]] Attributes attributesHolding(const c10::IValue& container) const;

 private:
  void addObject(const ObjectPtr& object, const std::string& path);
  void addValue(const c10::IValue& value, TensorSite site);

  std::vector<ObjectPtr> objects_;
  std::unordered_map<const c10::ivalue::Object*, std::string> paths_;
  std::unordered_map<std::string, std::vector<TensorSite>> sites_;
};

// "GPT2Block" of "__torch__.transformers.gpt2.___torch_mangle_12.GPT2Block".
[[nodiscard]] std::string shortClassName(const c10::ivalue::Object& object);

[[nodiscard]] inline std::string joinPath(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

}  // namespace normlens::formats::torchscript
