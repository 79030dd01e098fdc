// Times of a program's nodes in one pass of the interpreter, on the clock of the device. Private to
// formats/torchscript: includes torch.
#pragma once

#include <c10/core/Event.h>

#include <chrono>
#include <functional>
#include <set>
#include <vector>

#include "core/formats/op_passes.h"
#include "core/formats/torchscript/run/interpreter.h"

namespace normlens::formats::torchscript {

// Keeps the current stream busy for about so many milliseconds; the host does not wait.
using QueueWait = std::function<void(double ms)>;

// The time between two values is put down to the node that made the later one. On CUDA an event is recorded at each
// tensor. A GPU that waits for its launches would show how long they take, which is far longer than a small kernel: so
// each pass begins with a wait on the GPU in which the host gets ahead of it, and a pass in which it did not is done
// again with a longer one. If no wait is long enough (the op itself waits for the GPU, or the GPU's queue is full and
// the host has to wait for a place in it), the next node's time holds the launch, and the node is marked as late.
class NodeTimes {
 public:
  static constexpr int kWarmUp = -1;  // a pass that does not count, and makes what the others need

  // program: outlives this. wait: for CUDA only.
  NodeTimes(const Program& program, int passes, c10::Device device, QueueWait wait = {});

  // For one pass, which endPass() ends; kWarmUp goes first. Both throw c10::Error.
  [[nodiscard]] ValueHook hook(int pass);
  // False: the pass has to be done again.
  [[nodiscard]] bool endPass(int pass);
  [[nodiscard]] std::vector<double> medians() const { return passes_.medians(); }  // milliseconds by node
  // The GPU waited for the node's launch in a pass that counts.
  [[nodiscard]] bool isLate(int node) const { return lateNodes_.contains(node); }

 private:
  struct Mark {
    int node;  // kNone: what went before is nobody's
    c10::Event event;
    bool late = false;  // the GPU was done with the mark before when the host came to this one
  };
  void startOnDevice();
  void markOnDevice(int node);
  [[nodiscard]] bool waitLonger();

  const Program& program_;
  c10::Device device_;
  QueueWait wait_;
  OpPasses passes_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::vector<Mark> marks_;  // on CUDA; kept from pass to pass
  size_t count_ = 0;         // Counts those of the pass under way.
  std::set<int> lateNodes_;
  double waitMs_ = 0;
};

}  // namespace normlens::formats::torchscript
