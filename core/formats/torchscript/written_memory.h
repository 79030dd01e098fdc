// Copies of the memory that a model writes while it runs: tensors that shared memory go on sharing it.
// Private to formats/torchscript: includes torch.
#pragma once

#include <torch/script.h>

#include <unordered_map>

#include "core/formats/torchscript/program.h"

namespace normlens::formats::torchscript {

class WrittenMemory {
 public:
  explicit WrittenMemory(const Program& program);

  [[nodiscard]] bool empty() const { return copies_.empty(); }
  // The tensor itself where its memory is not written.
  [[nodiscard]] at::Tensor copyOf(const at::Tensor& tensor) const;

 private:
  std::unordered_map<const c10::StorageImpl*, c10::Storage> copies_;
};

}  // namespace normlens::formats::torchscript
