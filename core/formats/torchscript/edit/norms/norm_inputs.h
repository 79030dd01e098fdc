// Where the norms that can be fused have their gamma and beta. Private to formats/torchscript: includes torch.
#pragma once

#include <torch/script.h>

#include <optional>

namespace normlens::formats::torchscript {

struct NormInputs {
  size_t gamma = 0;
  std::optional<size_t> beta;
};

// Of aten::layer_norm, aten::rms_norm, normlens::layer_norm and normlens::rms_norm; nullopt for other nodes.
[[nodiscard]] std::optional<NormInputs> normInputs(const torch::jit::Node& node);

}  // namespace normlens::formats::torchscript
