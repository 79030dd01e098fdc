// Runs a Program op by op on IValues: through If, Loop, tuples, lists and calls, freeing values after their last read.
//
// Every value can be watched as it is made. The loaded module is never changed: tensors and attributes that the model
// writes are copied for the run (run_state.h). Slower than the JIT's own executor; times taken here are "with
// instrumentation".
// Thread: one run at a time per object. Private to formats/torchscript: includes torch.
#pragma once

#include <torch/csrc/jit/runtime/interpreter.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/script.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/run_watch.h"
#include "core/base/task.h"
#include "core/formats/torchscript/program/program.h"
#include "core/formats/torchscript/run/run_state.h"
#include "core/formats/torchscript/run/stand_ins.h"

namespace normlens::formats::torchscript {

// Called for each program value whenever it gets a new content. The content must not be changed.
using ValueHook = std::function<void(int value, const c10::IValue& content)>;

class Interpreter {
 public:
  // ShapesOnly: matrix products are not computed (stand_ins.h), so shapes and types are right and values are not. If
  // shapes come to depend on such values, or anything else goes wrong, the run is done again with all values; the hook
  // then sees values a second time, after `restarted` was called.
  // ShapesTried: as ShapesOnly, but what goes wrong is believed; only where values are needed it is done again.
  enum class Effort : uint8_t { Values, ShapesOnly, ShapesTried };

  // The program must outlive the interpreter.
  explicit Interpreter(const Program& program, Effort effort = Effort::Values, std::function<void()> restarted = {});

  // For passes that are timed, on inputs with which another pass ran: indices of lookups are not checked again.
  void trustIndices() { checksLookups_ = false; }

  // Runs the branch of each If that is not taken as well, once and without memory: the hook sees what is made
  // there, as far as it can be run.
  void alsoTryBranches() { tried_.assign(program_.blocks.size(), false); }

  // One forward pass in inference mode. inputs: one per parameter of block 0, in order.
  // Errors: RunFailed naming the op and the module it is in; BadInput naming the weight where an index is beyond
  // its rows; Cancelled.
  [[nodiscard]] Result<std::vector<c10::IValue>> run(std::vector<c10::IValue> inputs, const ValueHook& hook,
                                                     const Task& task);

  // Describes how a run failed.
  struct Fault {
    int node = kNone;                 // that failed
    std::vector<c10::IValue> inputs;  // The program was given them.
    size_t reached = 0;               // how many nodes had run by then, those in loops once
  };
  [[nodiscard]] const Fault& fault() const { return fault_; }

 private:
  [[nodiscard]] Result<std::vector<c10::IValue>> runOnce(std::vector<c10::IValue> inputs, const ValueHook& hook,
                                                         const Task& task);

  enum class Kind : uint8_t {
    Operator,
    Compiled,
    Nothing,  // changes no value
    With,
    If,
    Loop,
    List,
    Tuple,
    Unpack,
    Raise,
    GetAttr,
    SetAttr,
  };
  // Describes how to run one node; made when it is first reached.
  struct Step {
    bool ready = false;
    Kind kind = Kind::Operator;
    std::optional<torch::jit::Operation> operation;
    std::optional<torch::jit::Code> code;
    std::vector<int> dead;  // values that nothing reads after this node
  };

  void findLastReads();
  void prepare(int node);
  void loadConstants(RunState& state, const ValueHook& hook);
  void runBlock(int block);
  void runNode(int node);
  void runIf(int node);
  void tryBranch(int block);
  void runLoop(int node);
  void runSimple(int node);
  void getAttribute(int node);
  void setAttribute(int node);
  void set(int value, c10::IValue content);
  void setAll(const std::vector<int>& values, std::vector<c10::IValue> contents);
  [[nodiscard]] const c10::IValue& get(int value) const { return registers_[static_cast<size_t>(value)]; }
  [[nodiscard]] std::vector<c10::IValue> getAll(const std::vector<int>& values) const;

  const Program& program_;
  Effort effort_;
  std::function<void()> restarted_;
  std::optional<StandIns> standIns_;  // Set in a run for shapes only.
  bool valuesNeeded_ = false;
  bool checksLookups_ = true;
  std::vector<Step> steps_;
  std::vector<c10::IValue> registers_;
  const ValueHook* hook_ = nullptr;
  const Task* task_ = nullptr;
  const RunWatch* watch_ = nullptr;
  int current_ = kNone;      // node being run, for the error message
  std::vector<bool> ran_;    // by node
  std::vector<bool> tried_;  // by block; empty: no branch is tried
  bool isTrial_ = false;
  size_t triedNodes_ = 0;
  Fault fault_;
};

}  // namespace normlens::formats::torchscript
