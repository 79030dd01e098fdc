// What a failed trial tells about the sizes of the inputs. Private to formats/torchscript: includes torch.
#pragma once

#include <cstdint>
#include <vector>

#include "core/formats/torchscript/run/interpreter.h"

namespace normlens::formats::torchscript {

struct InputFault {
  size_t reached = 0;            // how far the run came
  std::vector<int64_t> numbers;  // sizes and numbers that met at the op that failed, each once, in order
  bool raised = false;           // the model itself objects: the numbers are what it wants, or has
  std::vector<bool> inputs;      // by parameter of forward(): what the op was given depends on it
};

[[nodiscard]] InputFault inputFault(const Program& program, const Interpreter::Fault& fault);

}  // namespace normlens::formats::torchscript
