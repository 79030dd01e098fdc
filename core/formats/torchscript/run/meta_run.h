// Ops on tensors that have sizes and a type but no memory: for the shapes of a branch that a run does not take. What
// could leave a trace in the run around it is not done. Private to formats/torchscript: includes torch.
#pragma once

#include <torch/script.h>

#include <vector>

namespace normlens::formats::torchscript {

// A tensor of the same sizes and type without memory, a list or tuple of such ones; anything else as it is.
[[nodiscard]] c10::IValue withoutMemory(const c10::IValue& value);

// Readies an op's arguments, which have no memory; what it makes is to have none either. Throws std::runtime_error
// where the op does more than make a result.
void makeWithoutMemory(const torch::jit::Node& op, std::vector<c10::IValue>& arguments);

}  // namespace normlens::formats::torchscript
