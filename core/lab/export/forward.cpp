#include "core/lab/export/forward.h"

namespace normlens::lab {

std::string ForwardWriter::writeForward(int layers) {
  return isTransformer() ? transformer(layers) : perceptron(layers);
}

at::Tensor ForwardWriter::parameter(const std::string& name) const {
  const at::NoGradGuard noGradients;
  return network_.used(*network_.find(name)).detach().cpu().clone().contiguous();
}

// See nets/perceptron.cpp.
ForwardWriter::Value ForwardWriter::perceptron(int layers) {
  Value x = kInput;
  for (int i = 1; i < layers; ++i) {
    const std::string index = std::to_string(i);
    x = activation(settings_.activation, norm("norm_" + index, linear("linear_" + index, x)));
  }
  return linear("linear_" + std::to_string(layers), x);
}

// See nets/transformer.cpp.
ForwardWriter::Value ForwardWriter::transformer(int blocks) {
  const Value characters = lookUp("characters", kInput);
  Value x = add(characters, places("places", kInput));
  for (int i = 1; i <= blocks; ++i) {
    const std::string block = "block_" + std::to_string(i) + "_";
    const Value mixed = attention(linear(block + "attention_in", norm(block + "norm_1", x)));
    x = add(x, linear(block + "attention_out", mixed));
    const Value hidden = activation("gelu", linear(block + "mlp_in", norm(block + "norm_2", x)));
    x = add(x, linear(block + "mlp_out", hidden));
  }
  return linear("head", norm("norm_last", x));
}

ForwardWriter::Value ForwardWriter::norm(const std::string& part, const Value& x) {
  if (network_.normUse() == NormUse::None) return x;
  return network_.normUse() == NormUse::LayerNorm ? layerNorm(part, x) : rmsNorm(part, x);
}

}  // namespace normlens::lab
