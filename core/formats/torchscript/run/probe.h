// Records dtypes and shapes of an interpreter run. Private to formats/torchscript: includes torch.
#pragma once

#include "core/formats/torchscript/program/probe_records.h"
#include "core/formats/torchscript/run/interpreter.h"

namespace normlens::formats::torchscript {

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

}  // namespace normlens::formats::torchscript
