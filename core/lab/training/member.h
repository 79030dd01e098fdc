// One network in training. Thread: one at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/formats/torchscript/run/pass_timer.h"
#include "core/lab/keep/checkpoint.h"
#include "core/lab/training/batches.h"
#include "core/lab/training/optimizer.h"

namespace normlens::lab {

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
  void tell(const Member* reference, RunRecord& record) const;

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
  Optimizer optimizer_;
  formats::torchscript::PassTimer timer_;
  int epoch_ = 0;
  int64_t bytes_ = 0;  // 0: not measured yet
  bool begun_ = false;
  std::string diverged_;
  KeptMember kept_;
};

}  // namespace normlens::lab
