// One network in training. Thread: one at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/torchscript/run/pass_timer.h"
#include "core/lab/keep/checkpoint.h"
#include "core/lab/nets/network.h"
#include "core/lab/training/batches.h"

namespace normlens::lab {

// Steps of SGD, Adam and AdamW: torch.optim's formulas.
class Optimizer {
 public:
  // decay_of "centered" concerns the parameters that the network centers, if it does. allSteps: the schedule's.
  Optimizer(OptimizerSettings settings, Network& network, int64_t allSteps);

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
  void clip();
  [[nodiscard]] double rate() const;  // of this step
  [[nodiscard]] at::Tensor decaying(const Parameter& parameter) const;

  const OptimizerSettings settings_;
  Network& network_;
  int64_t allSteps_;
  std::vector<at::Tensor> state_;
  int64_t steps_ = 0;
};

class Member {
 public:
  Member(const RunSettings& settings, const RunMember& which, const Batches& batches);

  [[nodiscard]] const RunMember& which() const { return which_; }
  [[nodiscard]] const Network& network() const { return *network_; }
  [[nodiscard]] int epoch() const { return epoch_; }
  // Returns whether it has begun and not diverged.
  [[nodiscard]] bool trains() const { return begun_ && diverged_.empty(); }
  [[nodiscard]] bool begun() const { return begun_; }
  [[nodiscard]] const std::string& diverged() const { return diverged_; }  // empty: it has not
  void begin(int epoch);

  // Called before each step; false: the rest of the epoch is not done.
  using GoOn = std::function<bool()>;
  enum class Went { Whole, Stopped, Diverged };
  // One more epoch; fills in train_loss, gradient_norms, ms_per_step. Stopped or diverged, the weights are those of the
  // last keep().
  [[nodiscard]] Went trainEpoch(const GoOn& goOn, RunRecord& record);
  // Does one step and fills in its loss; returns milliseconds.
  double timedStep(const Batch& batch, double& loss);
  // Fills in what the network is now, and the figures in its record.
  void fill(const Member* reference, RunRecord& record) const;

  // It is stopped, as it was at the last keep(). why: "the loss was not finite".
  void diverge(const std::string& why);

  // Keeps the present state, for a later return to it.
  void keep();
  [[nodiscard]] const KeptMember& kept() const { return kept_; }
  // Error: Unreadable, it has other tensors than this network.
  [[nodiscard]] Status restore(const KeptMember& from);
  // Weights and optimizer of another one of the same shape; `centeredOnce`: its weights after CCWT.
  void takeOver(const Member& other, bool centeredOnce);

  [[nodiscard]] int64_t bytes() const { return bytes_; }

 private:
  [[nodiscard]] double step(const Batch& batch);
  [[nodiscard]] int64_t weightBytes() const;

  RunMember which_;
  const Batches& batches_;
  std::unique_ptr<Network> network_;
  const OptimizerSettings& by_;
  Optimizer optimizer_;
  formats::torchscript::PassTimer timer_;
  int epoch_ = 0;
  int64_t bytes_ = 0;  // 0: not measured yet
  bool begun_ = false;
  std::string diverged_;
  KeptMember kept_;
};

}  // namespace normlens::lab
