// The code half of a model in another floating type. Private to formats/torchscript: includes torch.
#pragma once

#include <torch/script.h>

#include <string>

#include "core/graph/types.h"

namespace normlens::formats::torchscript {

// Literal floating types in casts, factories and reductions become `to`, in this graph and the graphs inside it, and
// literal numbers beyond its range its largest one (a mask of -3.4e38 stays a mask). Which inputs are element types is
// read off the operators' schemas. No operation is added or removed.
void retypeLiterals(torch::jit::Graph& graph, at::ScalarType to);

// Elements in another floating type; finite ones beyond its range become its largest.
[[nodiscard]] at::Tensor saturated(const at::Tensor& elements, at::ScalarType to);

// Why this module's code runs in its own types only (quantised or packed operators); empty if nothing speaks against
// another one.
[[nodiscard]] std::string conversionObstacle(const torch::jit::Module& module);

}  // namespace normlens::formats::torchscript
