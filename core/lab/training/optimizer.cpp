#include "core/lab/training/optimizer.h"

#include <cmath>
#include <utility>

namespace normlens::lab {

Optimizer::Optimizer(OptimizerSettings settings, Network& network)
    : settings_(std::move(settings)), network_(network) {}

void Optimizer::goOnFrom(std::vector<at::Tensor> state, int64_t steps) {
  state_ = std::move(state);
  steps_ = steps;
}

void Optimizer::clearGradients() {
  for (Parameter& parameter : network_.parameters()) parameter.value.mutable_grad() = at::Tensor();
}

// Papers 001, C.4: of the proxy that is stored, or of the weight that is computed with.
at::Tensor Optimizer::decaying(const Parameter& parameter) const {
  return settings_.decay_of == "centered" ? network_.used(parameter) : parameter.value;
}

void Optimizer::step() {
  const at::NoGradGuard noGradients;
  const bool sgdStep = settings_.kind == "sgd";
  if (state_.empty() && (!sgdStep || settings_.momentum != 0)) {
    for (int moment = 0; moment < (sgdStep ? 1 : 2); ++moment) {
      for (const Parameter& parameter : network_.parameters()) state_.push_back(at::zeros_like(parameter.value));
    }
  }
  ++steps_;
  for (size_t i = 0; i < network_.parameters().size(); ++i) {
    Parameter& parameter = network_.parameters()[i];
    at::Tensor gradient = parameter.value.grad();
    if (settings_.weight_decay != 0) {
      if (settings_.kind == "adamw") {
        parameter.value.sub_(decaying(parameter), settings_.learning_rate * settings_.weight_decay);
      } else {
        gradient = gradient.add(decaying(parameter), settings_.weight_decay);
      }
    }
    sgdStep ? sgd(i, gradient) : adam(i, gradient);
  }
}

void Optimizer::sgd(size_t index, const at::Tensor& gradient) {
  at::Tensor direction = gradient;
  if (settings_.momentum != 0) {
    state_[index].mul_(settings_.momentum).add_(gradient);
    direction = state_[index];
  }
  network_.parameters()[index].value.sub_(direction, settings_.learning_rate);
}

void Optimizer::adam(size_t index, const at::Tensor& gradient) {
  at::Tensor& first = state_[index];
  at::Tensor& second = state_[network_.parameters().size() + index];
  first.mul_(settings_.beta1).add_(gradient, 1 - settings_.beta1);
  second.mul_(settings_.beta2).addcmul_(gradient, gradient, 1 - settings_.beta2);
  const double grown1 = 1 - std::pow(settings_.beta1, static_cast<double>(steps_));
  const double grown2 = 1 - std::pow(settings_.beta2, static_cast<double>(steps_));
  const at::Tensor size = second.sqrt().div_(std::sqrt(grown2)).add_(settings_.eps);
  network_.parameters()[index].value.addcdiv_(first, size, -settings_.learning_rate / grown1);
}

}  // namespace normlens::lab
