// Sizes that torch's recurrent ops trust their caller with: with others they read and write past the ends of tensors.
// Private to formats/torchscript: includes torch.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <vector>

namespace normlens::formats::torchscript {

// Throws std::runtime_error where `node` is a recurrent op and its input or state does not fit its weights.
void checkRecurrentSizes(const torch::jit::Node* node, const std::vector<c10::IValue>& inputs);

}  // namespace normlens::formats::torchscript
