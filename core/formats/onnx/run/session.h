// A model in ONNX Runtime. Private to formats/onnx; compiles without ONNX Runtime, and then cannot be opened.
//
// The skeleton is handed over serialized, the weights as memory of ours, so nothing above 2 GB is ever serialized and
// the tensors are not copied where they lie as the runtime wants them. Thread: one at a time. Errors: Unsupported when
// the runtime does not know the model's operators, RunFailed, BadInput.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/base/task.h"
#include "core/formats/model.h"
#include "core/formats/onnx/lower/lower.h"
#include "core/formats/onnx/run/session_model.h"

namespace normlens::formats::onnx {

class CountedMemory;

// Called when a tapped value is there; `value` is valid during the call only. Its dtype is Unknown, and its data null,
// where TensorView has no such type.
using TapSink = std::function<void(const TapSite& site, const graph::TensorView& value)>;

// These options are set by measurements only.
struct SessionMeasures {
  Device device = Device::Cpu;
  int gpu = 0;              // which one, of CUDA
  int threads = 0;          // One op uses as many; 0: the runtime's choice.
  bool ownKernels = true;   // doubles may go to our kernels where the runtime has none
  std::string profile{};    // prefix of the file that times of nodes are written to; empty: none
  bool cudaGraph = false;   // On CUDA the first run is recorded and later ones replay it.
  CountedMemory* memory{};  // not owned, outlives the session: records every allocation; null: nothing does
};

struct SessionOptions {
  bool optimised = false;  // for measurements: all graph optimizations; else nodes run as the file has them
  TapFilter taps;          // empty: no taps
  std::unordered_set<std::string> onlyForShape{};  // weights of these names are zeros (stand_ins.h)
  SessionMeasures measures{};
};

class Session {
 public:
  [[nodiscard]] static Result<std::shared_ptr<Session>> open(const OnnxSource& source, const SessionOptions& options);
  ~Session();

  // Inputs by the model's names, else "in_0" ..., else in order. Outputs carry the model's names.
  [[nodiscard]] Result<Tensors> run(const Tensors& inputs, const Task& task, const TapSink& sink = {});

  // Prepares the inputs once, for many runs; each call runs once and returns its milliseconds. The session outlives it.
  // plain: of a session with a CUDA graph, the same model without: it shows how large the outputs are, since a graph
  // needs a place for them that stays.
  [[nodiscard]] Result<std::function<Result<double>()>> prepare(const Tensors& inputs, Session* plain = nullptr);

  // Ends the profile that was started; returns its file's path. Errors: RunFailed.
  [[nodiscard]] Result<std::string> endProfile();

 private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// For measurements. `lowered` is the model as it was opened: times are reported by its nodes, and it outlives the
// runner. inType: the source is the model in another floating type, for the runtime's own kernels. Errors: Unsupported,
// BadInput.
[[nodiscard]] Result<std::unique_ptr<Runner>> makeRunner(const OnnxSource& source, const Lowered& lowered, bool inType,
                                                         const Tensors& inputs, const RunSettings& settings);

}  // namespace normlens::formats::onnx
