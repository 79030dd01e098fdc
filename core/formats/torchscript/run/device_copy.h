// A module on another device, for measurements. Private to formats/torchscript: includes torch.
#pragma once

#include <torch/script.h>

#include <vector>

namespace normlens::formats::torchscript {

// Every tensor on `device`, literal devices too; the module given is not changed, and shares no memory with the copy.
// Tensors that share memory in it share memory in the copy. Throws c10::Error.
[[nodiscard]] torch::jit::Module copyOnDevice(const torch::jit::Module& module, c10::Device device);

// The tensors inside, wherever they are, on `device`; as above.
void moveInputs(std::vector<c10::IValue>& inputs, c10::Device device);

}  // namespace normlens::formats::torchscript
