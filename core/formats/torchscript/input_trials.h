// Tries input specs on the interpreter and finds which sizes are free. Private to formats/torchscript: includes torch.
#pragma once

#include <torch/script.h>

#include <chrono>
#include <vector>

#include "core/formats/model.h"
#include "core/formats/torchscript/interpreter.h"

namespace normlens::formats::torchscript {

class InputTrials {
 public:
  InputTrials(const Program& program, const c10::FunctionSchema& schema, graph::DType floats)
      : shapes_(program, Interpreter::Effort::ShapesOnly), values_(program), schema_(schema), floats_(floats) {}

  // One forward pass with inputs drawn from the specs (always the same draw); its outputs are not computed in full.
  bool works(const std::vector<InputSpec>& specs);
  // Computed in full, and every floating output is finite.
  bool worksFinite(const std::vector<InputSpec>& specs);
  [[nodiscard]] const std::string& lastError() const { return lastError_; }

  // Marks the axes whose size can be changed, batch first, then groups of axes of one size, and makes the free sizes
  // pairwise different and at least 2. The specs must work; they work afterwards. fixedAxes, by input: not tried;
  // negative ones count from the end.
  void findFreeAxes(std::vector<InputSpec>& specs, const std::vector<std::vector<int>>& fixedAxes);

  // Trials cost a forward pass each: after some seconds no more are made.
  [[nodiscard]] bool outOfTime() const { return std::chrono::steady_clock::now() - start_ > std::chrono::seconds(20); }

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

  Interpreter shapes_;
  Interpreter values_;
  const c10::FunctionSchema& schema_;
  graph::DType floats_;
  std::string lastError_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace normlens::formats::torchscript
