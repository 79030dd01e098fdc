// What a run reads of the loaded module: the module's own tensors, or copies of those that the run writes.
// Private to formats/torchscript: includes torch.
#pragma once

#include <torch/script.h>

#include <unordered_map>

#include "core/formats/torchscript/program.h"
#include "core/formats/torchscript/written_memory.h"

namespace normlens::formats::torchscript {

// A copy that a run may write; objects are not copied.
[[nodiscard]] c10::IValue copyOfState(const c10::IValue& value);

class RunState {
 public:
  explicit RunState(const Program& program);

  // The content of a known value for one run.
  [[nodiscard]] c10::IValue contentOf(int value) const;

 private:
  // Modules whose methods run as they are: which ones is chosen at run time.
  void copyModule(int value);

  const Program& program_;
  const WrittenMemory memory_;
  std::unordered_map<const c10::ivalue::Object*, c10::IValue> modules_;
};

}  // namespace normlens::formats::torchscript
