// Tries input specs on the interpreter and finds which sizes are free. Private to formats/torchscript: includes torch.
#pragma once

#include <torch/script.h>

#include <chrono>
#include <vector>

#include "core/formats/model.h"
#include "core/formats/torchscript/inputs/input_fault.h"
#include "core/formats/torchscript/run/interpreter.h"

namespace normlens::formats::torchscript {

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
  // Of a trial by works() that failed.
  [[nodiscard]] InputFault fault() const { return inputFault(program_, shapes_.fault()); }
  // Computed in full, and every floating output is finite.
  bool worksFinite(const std::vector<InputSpec>& specs);
  [[nodiscard]] const std::string& lastError() const { return lastError_; }

  // Marks the axes whose size can be changed, batch first, then groups of axes of one size, and makes the free sizes
  // pairwise different and at least 2. The specs must work; they work afterwards. fixedAxes, by input: not tried;
  // negative ones count from the end.
  void findFreeAxes(std::vector<InputSpec>& specs, const std::vector<std::vector<int>>& fixedAxes);

  // Trials cost a forward pass each: after some seconds no more are made. A large model gets a few all the same.
  [[nodiscard]] bool searchedEnough() const;
  [[nodiscard]] bool outOfTime() const { return endless_ || elapsed() > std::chrono::seconds(20); }
  [[nodiscard]] int made() const { return made_; }
  [[nodiscard]] std::chrono::duration<double> elapsed() const { return std::chrono::steady_clock::now() - start_; }

 private:
  struct Place {
    size_t input;
    size_t axis;
  };
  struct Group {
    int64_t size = 0;
    bool batch = false;
    std::vector<Place> places;
  };

  std::optional<std::vector<c10::IValue>> run(const std::vector<InputSpec>& specs, Interpreter& interpreter);
  [[nodiscard]] static std::vector<Group> groupsOf(const std::vector<InputSpec>& specs,
                                                   const std::vector<std::vector<int>>& fixedAxes);
  static void resize(std::vector<InputSpec>& specs, const Group& group, int64_t size);

  const Program& program_;
  Interpreter shapes_;
  Interpreter values_;
  const c10::FunctionSchema& schema_;
  graph::DType floats_;
  std::string lastError_;
  int made_ = 0;
  bool endless_ = false;  // one of them was stopped: others would be, too
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace normlens::formats::torchscript
