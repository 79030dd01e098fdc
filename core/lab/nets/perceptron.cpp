#include "core/lab/nets/network.h"

namespace normlens::lab {
namespace {

class Perceptron final : public Network {
 public:
  Perceptron(const RunSettings& settings, const NetworkShape& shape)
      : Network(settings, shape), architecture_(settings.architecture), activation_(settings.activation) {
    const bool convolves = architecture_ == Architecture::Convolutional;
    for (int i = 1; i <= shape.layers; ++i) {
      const std::string name = "linear_" + std::to_string(i);
      if (i == shape.layers) {
        linears_.push_back(addLinear(name, settings.width, shape.classes, false));
        break;
      }
      const int64_t inputs = i > 1 ? settings.width : convolves ? 1 : shape.inputs;
      linears_.push_back(convolves ? addConvolution(name, inputs, settings.width, settings.groups)
                                   : addLinear(name, inputs, settings.width, true));
      norms_.push_back(addNorm("norm_" + std::to_string(i), settings.width));
    }
  }

 private:
  at::Tensor scores(const at::Tensor& input, Pass& pass) const override {
    const bool convolves = architecture_ == Architecture::Convolutional;
    at::Tensor now = convolves ? input.unsqueeze(1) : input;
    for (size_t i = 0; i < norms_.size(); ++i) {
      const at::Tensor next = activated(activation_, norm(norms_[i], linear(linears_[i], now, pass), pass), pass);
      now = architecture_ == Architecture::ResidualMlp && i > 0 ? now + next : next;
    }
    return linear(linears_.back(), convolves ? now.mean(2) : now, pass);
  }

  Architecture architecture_;
  Activation activation_;
  std::vector<Linear> linears_;
  std::vector<Norm> norms_;
};

}  // namespace

std::unique_ptr<Network> makePerceptron(const RunSettings& settings, const NetworkShape& shape) {
  return std::make_unique<Perceptron>(settings, shape);
}

}  // namespace normlens::lab
