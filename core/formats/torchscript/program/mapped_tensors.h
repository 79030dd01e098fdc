// Tensors that stay in their file: torch's loader gets no bytes of large records, and the memory that it made for them
// becomes the file's own, mapped copy-on-write. Private to formats/torchscript: includes torch.
//
// Thread: one; of one loading.
#pragma once

#include <torch/script.h>

#include <unordered_map>
#include <vector>

#include "core/formats/archive/archive_reader.h"

namespace normlens::formats::torchscript {

class MappedTensors {
 public:
  // The archive outlives this object; its file outlives the tensors.
  explicit MappedTensors(const Archive& archive);

  // Returns whether a read of the file into memory is left out.
  [[nodiscard]] bool leavesOut(uint64_t position, const void* buffer, size_t length);
  // False where the module does not hold all that was left out: it has to be loaded again, with everything read.
  [[nodiscard]] bool place(const torch::jit::Module& module) const;

 private:
  struct LeftOut {
    uint64_t position;
    const void* buffer;
    size_t length;
  };

  const Archive& archive_;
  std::unordered_map<uint64_t, size_t> records_;  // that may be left out: by position, their length
  std::vector<LeftOut> leftOut_;
};

}  // namespace normlens::formats::torchscript
