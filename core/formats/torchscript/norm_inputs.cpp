#include "core/formats/torchscript/norm_inputs.h"

namespace normlens::formats::torchscript {

std::optional<NormInputs> normInputs(const torch::jit::Node& node) {
  const std::string_view op = node.kind().toQualString();
  if (op == "aten::layer_norm") return NormInputs{.gamma = 2, .beta = 3, .shape = 1, .eps = 4};
  if (op == "aten::rms_norm") return NormInputs{.gamma = 2, .beta = std::nullopt, .shape = 1, .eps = 3};
  if (op == "normlens::layer_norm" || op == "normlens::rms_norm")
    return NormInputs{.gamma = 1, .beta = 2, .shape = std::nullopt, .eps = 3};
  return std::nullopt;
}

}  // namespace normlens::formats::torchscript
