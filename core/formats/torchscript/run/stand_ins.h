// Shapes without the arithmetic: for an interpreter run of which only shapes and types are wanted.
//
// Matrix products are most of a run's time. Their results are replaced by zeros
// of the shape that torch's meta kernels give. Whatever is computed from such a result is known by its memory; a run in
// which a number, a condition or a shape would come to depend on it must be done again with all values. Thread: that of
// the run. Private to formats/torchscript: includes torch.
#pragma once

#include <torch/csrc/jit/ir/ir.h>
#include <torch/script.h>

#include <stdexcept>
#include <unordered_set>
#include <vector>

namespace normlens::formats::torchscript {

// This run cannot be finished without the values.
struct ValueNeeded : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class StandIns {
 public:
  // If `node` is a product: its results in place of its inputs on the stack, and true.
  bool replace(const torch::jit::Node* node, std::vector<c10::IValue>& stack);
  // After a node ran for real. Throws ValueNeeded.
  void follow(const torch::jit::Node* node, const std::vector<c10::IValue>& inputs,
              const std::vector<c10::IValue>& outputs);

 private:
  [[nodiscard]] bool isStandIn(const c10::IValue& value) const;
  void mark(const c10::IValue& value, bool standIn);

  // Storages whose content was not computed. One that is freed and given to another tensor is taken out by mark().
  std::unordered_set<const c10::StorageImpl*> storages_;
};

}  // namespace normlens::formats::torchscript
