// Times of a program's nodes in one pass of the interpreter, on the clock of the device. Private to
// formats/torchscript: includes torch.
#pragma once

#include <c10/core/Event.h>

#include <chrono>
#include <vector>

#include "core/formats/op_passes.h"
#include "core/formats/torchscript/run/interpreter.h"

namespace normlens::formats::torchscript {

// What passes between two values is put down to the node that made the later one. On CUDA an event is recorded at each:
// what the GPU was busy with or waited for in between; launches that it waits for are in it.
class NodeTimes {
 public:
  // program: outlives this.
  NodeTimes(const Program& program, int passes, c10::Device device);

  // For one pass, which endPass() ends. Both throw c10::Error.
  [[nodiscard]] ValueHook hook(int pass);
  void endPass(int pass);
  [[nodiscard]] std::vector<double> medians() const { return passes_.medians(); }  // milliseconds by node

 private:
  struct Mark {
    int node;  // kNone: what went before is nobody's
    c10::Event event;
  };
  void markOnDevice(int node);

  const Program& program_;
  c10::Device device_;
  OpPasses passes_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::vector<Mark> marks_;  // of the pass under way, on CUDA
};

}  // namespace normlens::formats::torchscript
