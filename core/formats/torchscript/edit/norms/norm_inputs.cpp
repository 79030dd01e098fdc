#include "core/formats/torchscript/edit/norms/norm_inputs.h"

namespace normlens::formats::torchscript {

std::optional<NormInputs> normInputs(const torch::jit::Node& node) {
  const std::string_view op = node.kind().toQualString();
  if (op == "aten::layer_norm") return NormInputs{.gamma = 2, .beta = 3};
  if (op == "aten::rms_norm") return NormInputs{.gamma = 2, .beta = std::nullopt};
  if (op == "normlens::layer_norm" || op == "normlens::rms_norm") return NormInputs{.gamma = 1, .beta = 2};
  return std::nullopt;
}

}  // namespace normlens::formats::torchscript
