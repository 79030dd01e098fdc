// Tries input specs on the interpreter and finds which sizes are free. Private to formats/torchscript: includes torch.
#pragma once

#include <torch/script.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "core/base/run_watch.h"
#include "core/formats/model.h"
#include "core/formats/torchscript/run/interpreter.h"

namespace normlens::formats::torchscript {

// Axes of inputs that have one size; first axes are apart.
struct SizeGroup {
  struct InputAxis {
    size_t input, axis;
  };
  int64_t size = 0;
  bool batch = false;
  std::vector<InputAxis> axes;
};

class InputTrials {
 public:
  InputTrials(const Program& program, const c10::FunctionSchema& schema, graph::DType floats)
      : program_(program),
        shapes_(program, Interpreter::Effort::ShapesTried),
        values_(program),
        schema_(schema),
        floats_(floats) {}

  // One forward pass with inputs drawn from the specs (always the same draw); its outputs are not computed in full.
  bool works(const std::vector<InputSpec>& specs);
  // Returns the fault of a trial by works() that failed.
  [[nodiscard]] const Interpreter::Fault& fault() const { return shapes_.fault(); }
  // Computed in full, and every floating output is finite.
  bool worksFinite(const std::vector<InputSpec>& specs);
  [[nodiscard]] const std::string& lastError() const { return lastError_; }

  // Batches first.
  [[nodiscard]] static std::vector<SizeGroup> groupsOf(const std::vector<InputSpec>& specs);
  // Marks the axes whose size can be changed, those of one size together where they can be, and makes the free sizes
  // pairwise different and at least 2. The specs must work; they work afterwards.
  void findFreeAxes(std::vector<InputSpec>& specs);

  // Trials cost a forward pass each: after some seconds no more are made. A large model gets a few all the same.
  [[nodiscard]] bool searchedEnough() const;
  [[nodiscard]] bool outOfTime() const { return endless_ || elapsed() > limit_; }
  [[nodiscard]] bool endless() const { return endless_; }  // a trial took too long and was stopped
  [[nodiscard]] int made() const { return made_; }
  [[nodiscard]] std::chrono::duration<double> elapsed() const { return std::chrono::steady_clock::now() - start_; }

 private:
  std::optional<std::vector<c10::IValue>> run(const std::vector<InputSpec>& specs, Interpreter& interpreter);
  std::optional<std::vector<InputSpec>> resized(std::vector<InputSpec> specs, const SizeGroup& group, int64_t size);

  const Program& program_;
  Interpreter shapes_;
  Interpreter values_;
  const c10::FunctionSchema& schema_;
  graph::DType floats_;
  std::string lastError_;
  int made_ = 0;
  // Limits all trials together; a --time-limit of more seconds lengthens it.
  std::chrono::milliseconds limit_{std::max<int64_t>(20'000, limitMsOf(watchPage(), RunWatch::Kind::Trial))};
  bool endless_ = false;  // one of them was stopped: others would be, too
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace normlens::formats::torchscript
