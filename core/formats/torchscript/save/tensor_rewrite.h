// A module copied with every tensor rewritten, wherever it is held, and its code too if wanted: float64 twins,
// perturbed weights. Private to formats/torchscript: includes torch.
#pragma once

#include <torch/script.h>

#include <functional>

namespace normlens::formats::torchscript {

struct RewriteRules {
  // New content for a piece of memory, given and returned as a dense vector of the same length (another type is fine).
  // Called once for each piece that floating-point tensors look into, in a fixed order: what shared memory shares it
  // still.
  std::function<at::Tensor(const at::Tensor& elements)> memory;
  // Changes a body in place; called for every method and function that forward or any other method may reach. Empty:
  // only bodies with tensor constants are copied.
  std::function<void(torch::jit::Graph& graph)> code;
  // Tensors of other types: shared with the original, or copied where the model writes to its own state.
  bool copyOthers = false;
};

// Throws EditRefused, c10::Error.
[[nodiscard]] torch::jit::Module rewriteTensors(const torch::jit::Module& module, const RewriteRules& rules);

}  // namespace normlens::formats::torchscript
