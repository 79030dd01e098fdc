// Running an opened model: through torch's own executor, or op by op where values are to be seen. Private to
// formats/torchscript: includes torch.
#pragma once

#include <torch/script.h>

#include <memory>
#include <vector>

#include "core/formats/torchscript/lower/lowered_model.h"
#include "core/formats/torchscript/program/probe_records.h"
#include "core/formats/torchscript/run/interpreter.h"

namespace normlens::formats::torchscript {

// Records dtypes and shapes of an interpreter run.
class Recorder {
 public:
  explicit Recorder(const Program& program) { records_.values.resize(program.values.size()); }

  // The recorder must outlive the run.
  [[nodiscard]] ValueHook hook() {
    return [this](int value, const c10::IValue& content) { note(static_cast<size_t>(value), content); };
  }
  [[nodiscard]] ProbeRecords take() { return std::move(records_); }

 private:
  void note(size_t value, const c10::IValue& content);

  ProbeRecords records_;
};

// torch's default floating type while a model runs: it decides what sqrt of an int is. Process-wide, so restored.
class DefaultType {
 public:
  explicit DefaultType(at::ScalarType type);
  ~DefaultType();
  DefaultType(const DefaultType&) = delete;
  DefaultType& operator=(const DefaultType&) = delete;

 private:
  caffe2::TypeMeta before_;
};

// Threads of one op; 0: as many as there are. Process-wide, so restored.
class ThreadCount {
 public:
  explicit ThreadCount(int wanted);
  ~ThreadCount();
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

// Makes every run behind this draw the same numbers at random: else no run could be compared with another.
void drawTheSame();

// The inputs as forward() takes them: whatever runs the model begins here, and ends here where it must not be run.
// Errors: Unsupported, BadInput.
[[nodiscard]] Result<std::vector<c10::IValue>> argumentsFor(const LoweredModel& model, const Tensors& inputs);

// See Model::probe and Model::run.
[[nodiscard]] Status probeModel(LoweredModel& model, const Tensors& inputs, const Task& task);
[[nodiscard]] Result<Tensors> runModel(const LoweredModel& model, const Tensors& inputs, const Task& task);

// A pass by the interpreter over `program`, the model's or that of its copy on a device, and what `values` were in it;
// see Model::runSeeing.
[[nodiscard]] Result<Model::SeenRun> seeRun(const LoweredModel& model, const Program& program,
                                            std::vector<c10::IValue> arguments,
                                            const std::vector<graph::ValueId>& values, const Task& task);

// See Model::runner. Errors: BadInput for indices beyond a weight's rows, too.
[[nodiscard]] Result<std::unique_ptr<Runner>> makeRunner(const LoweredModel& model, const Tensors& inputs,
                                                         const RunSettings& settings);

}  // namespace normlens::formats::torchscript
