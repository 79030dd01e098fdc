// Steps of SGD, Adam and AdamW: torch.optim's formulas. Thread: one at a time.
#pragma once

#include <vector>

#include "core/lab/nets/network.h"

namespace normlens::lab {

class Optimizer {
 public:
  // decay_of "centered" concerns the parameters that the network centers, if it does.
  Optimizer(OptimizerSettings settings, Network& network);

  void step();  // precondition: every parameter has its gradient
  void clearGradients();

  // Returns what the next step builds on: momentum of each parameter (sgd), first and second moments (adam, adamw);
  // empty before the first step.
  [[nodiscard]] const std::vector<at::Tensor>& state() const { return state_; }
  [[nodiscard]] int64_t steps() const { return steps_; }
  void goOnFrom(std::vector<at::Tensor> state, int64_t steps);

 private:
  void sgd(size_t index, const at::Tensor& gradient);
  void adam(size_t index, const at::Tensor& gradient);
  [[nodiscard]] at::Tensor decaying(const Parameter& parameter) const;

  const OptimizerSettings settings_;
  Network& network_;
  std::vector<at::Tensor> state_;
  int64_t steps_ = 0;
};

}  // namespace normlens::lab
