// Running one model many times on the same inputs, for measurements.
//
// A Runner is made by Model::runner() and holds the inputs, and where the settings want it a copy of the model in
// another type or on another device. Thread: one at a time. Errors: Unsupported for what this machine, runtime or model
// cannot do, RunFailed (memory ran out, too), Cancelled; one plain sentence each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/graph/graph.h"
#include "core/graph/types.h"

namespace normlens::formats {

// A dense row-major tensor with a name, owned by `view.owner`.
struct NamedTensor {
  std::string name;
  graph::TensorView view;
};
using Tensors = std::vector<NamedTensor>;

enum class Device : uint8_t { Cpu, Cuda };

struct RunSettings {
  Device device = Device::Cpu;
  int gpu = 0;                                 // which one of CUDA's, by its number
  graph::DType dtype = graph::DType::Unknown;  // The weights' and float inputs'; Unknown: as the file has them.
  int threads = 0;                             // One op uses as many; 0: the runtime's choice.
  bool cudaGraph = false;                      // CUDA: the pass is recorded once and replayed; else Unsupported
  bool operator==(const RunSettings&) const = default;
};

// "cpu", "cuda" (the first GPU), "cuda:1".
[[nodiscard]] std::string deviceName(const RunSettings& settings);
// Device and GPU by such a name. Error: Usage, it names none, and nothing is set. Whether there is such a GPU a runner
// reports.
[[nodiscard]] Status setDevice(RunSettings& settings, std::string_view name);

// One op in one pass, with the instrumentation that it takes to see it.
struct OpTime {
  std::string op;                     // "aten::layer_norm", "SkipLayerNormalization"
  graph::NodeId node = graph::kNone;  // A node of the model's graph; kNone: the runtime made the op itself.
  double ms = 0;
  bool late = false;  // a GPU waited for the op's launch: the time holds that wait
};

class Runner {
 public:
  virtual ~Runner() = default;
  // One forward pass in inference mode: from the call until the results are there, conversions of inputs not counted.
  [[nodiscard]] virtual Result<double> runOnceMs() = 0;
  // The outputs of one more such pass, copied to the host. Every runner draws random numbers from the same seed here.
  [[nodiscard]] virtual Result<Tensors> outputs() = 0;
  // As Model::runCapturing, in a pass on the runner's device.
  [[nodiscard]] virtual Result<Tensors> runCapturing(const std::vector<graph::ValueId>& values, const Task& task) {
    static_cast<void>(values);
    static_cast<void>(task);
    return fail(ErrorCode::Unsupported, runtime() + " reports only the outputs of a model on this device");
  }
  // Most bytes that the tensors made by one pass (results included; weights and inputs not) take at a time, as the
  // runtime allocates them. Runs the model, more slowly. Pools and scratch memory of math libraries are not seen.
  [[nodiscard]] virtual Result<int64_t> peakBytes() = 0;
  // The ops of one pass, in order; medians over a few passes.
  [[nodiscard]] virtual Result<std::vector<OpTime>> opTimes(const Task& task) = 0;
  [[nodiscard]] virtual std::string clock()
      const = 0;  // Names the clock that runOnceMs reads: "wall clock", "CUDA events, CUDA graph".
  [[nodiscard]] virtual std::string runtime() const = 0;  // "LibTorch 2.15.0"
  [[nodiscard]] virtual int threads() const = 0;          // One op uses as many.
};

}  // namespace normlens::formats
