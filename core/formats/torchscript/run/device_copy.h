// A module on another device, for measurements. Private to formats/torchscript: includes torch.
#pragma once

#include <torch/script.h>

namespace normlens::formats::torchscript {

// Every tensor on `device`, literal devices too; the module given is not changed. Throws c10::Error.
[[nodiscard]] torch::jit::Module copyOnDevice(const torch::jit::Module& module, c10::Device device);

// The tensors inside, wherever they are, on `device`.
[[nodiscard]] c10::IValue onDevice(const c10::IValue& value, c10::Device device);

}  // namespace normlens::formats::torchscript
