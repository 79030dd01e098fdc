#include "core/lab/nets/network.h"

namespace normlens::lab {
namespace {

class Perceptron final : public Network {
 public:
  Perceptron(const RunSettings& settings, const NetworkShape& shape)
      : Network(settings, shape), activation_(settings.activation) {
    for (int i = 1; i <= shape.layers; ++i) {
      const bool last = i == shape.layers;
      const int64_t inputs = i == 1 ? shape.inputs : settings.width;
      linears_.push_back(
          addLinear("linear_" + std::to_string(i), inputs, last ? shape.classes : settings.width, !last));
      if (!last) norms_.push_back(addNorm("norm_" + std::to_string(i), settings.width));
    }
  }

  at::Tensor forward(const at::Tensor& input, Trace* trace) const override {
    at::Tensor now = input;
    for (size_t i = 0; i < norms_.size(); ++i) now = activated(norm(norms_[i], linear(linears_[i], now, trace)));
    return linear(linears_.back(), now, trace);
  }

 private:
  [[nodiscard]] at::Tensor activated(const at::Tensor& input) const {
    if (activation_ == Activation::Gelu) return at::gelu(input);
    return activation_ == Activation::Tanh ? at::tanh(input) : at::relu(input);
  }

  Activation activation_;
  std::vector<Linear> linears_;
  std::vector<Norm> norms_;
};

}  // namespace

std::unique_ptr<Network> makePerceptron(const RunSettings& settings, const NetworkShape& shape) {
  return std::make_unique<Perceptron>(settings, shape);
}

}  // namespace normlens::lab
