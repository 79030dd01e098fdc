// Holds what a run reads and writes of the loaded module: its own, or copies where the model writes any of it, so that
// every run starts from the state of the file and leaves it as it is. Private to formats/torchscript: includes torch.
#pragma once

#include <torch/script.h>

#include <unordered_map>
#include <vector>

#include "core/formats/torchscript/program/program.h"

namespace normlens::formats::torchscript {

// One object for one run. Of a model that writes nothing it copies nothing; else all objects and containers, and the
// memory that is written: what shared it shares the copy.
class RunState {
 public:
  // The program outlives it.
  explicit RunState(const Program& program);
  ~RunState();
  RunState(const RunState&) = delete;
  RunState& operator=(const RunState&) = delete;

  // Returns what the run has in place of something that the file holds; the same each time.
  [[nodiscard]] c10::IValue of(const c10::IValue& loaded);
  // To be run once, while this is alive.
  [[nodiscard]] torch::jit::Module module() { return {of(program_.frames[0].self).toObject()}; }

 private:
  [[nodiscard]] c10::IValue copyOf(const c10::IValue& loaded);
  [[nodiscard]] c10::IValue copyOfObject(const c10::IValue& loaded);
  [[nodiscard]] at::Tensor copyOfTensor(const at::Tensor& loaded);

  // A tensor that is in the code: it is written where it is, and then put back.
  struct Literal {
    at::Tensor tensor;
    at::Tensor place;    // the same memory as it was seen
    at::Tensor content;  // a copy
  };

  const Program& program_;
  std::vector<Literal> literals_;
  c10::IValue::HashIdentityIValueMap copies_;
  std::unordered_map<const c10::StorageImpl*, c10::Storage> memory_;
};

}  // namespace normlens::formats::torchscript
