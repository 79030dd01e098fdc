// The code half of a float64 twin. Private to formats/torchscript: includes torch.
#pragma once

#include <torch/script.h>

#include <string>

namespace normlens::formats::torchscript {

// Literal element types in casts, factories and reductions become float64, in this graph and the graphs inside it.
// Which inputs are element types is read off the operators' schemas. No operation is added or removed.
void widenLiteralTypes(torch::jit::Graph& graph);

// Why this module's code cannot run in float64 (quantised or packed operators); empty if nothing speaks against it.
[[nodiscard]] std::string float64Obstacle(const torch::jit::Module& module);

}  // namespace normlens::formats::torchscript
