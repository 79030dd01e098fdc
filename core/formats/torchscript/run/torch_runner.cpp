// makeRunner: one model run many times, on the CPU or a GPU.
#include <ATen/Parallel.h>
#include <c10/core/DeviceGuard.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/version.h>

#include "core/formats/torchscript/program/arguments.h"
#include "core/formats/torchscript/program/error_text.h"
#include "core/formats/torchscript/run/captured_pass.h"
#include "core/formats/torchscript/run/cuda/cuda_graph.h"
#include "core/formats/torchscript/run/cuda/cuda_library.h"
#include "core/formats/torchscript/run/device_copy.h"
#include "core/formats/torchscript/run/interpreter.h"
#include "core/formats/torchscript/run/model_run.h"
#include "core/formats/torchscript/run/node_times.h"
#include "core/formats/torchscript/run/pass_timer.h"
#include "core/formats/torchscript/run/peak_memory.h"
#include "core/formats/torchscript/run/run_state.h"
#include "core/formats/torchscript/save/save.h"

namespace normlens::formats::torchscript {
namespace {

using c10::IValue;

constexpr int kInstrumentedPasses = 5;

std::vector<int> graphNodes(const Lowered& lowered, size_t programNodes) {
  std::vector<int> byProgramNode(programNodes, graph::kNone);
  for (size_t i = 0; i < lowered.programNode.size(); ++i) {
    if (lowered.programNode[i] != kNone)
      byProgramNode[static_cast<size_t>(lowered.programNode[i])] = static_cast<int>(i);
  }
  return byProgramNode;
}

const LoweredModel& usedModel(const LoweredModel& model, const std::optional<LoweredModel>& copy) {
  return copy ? *copy : model;
}

class TorchRunner final : public Runner {
 public:
  struct Parts {
    std::optional<LoweredModel> copy;  // in another type; nullopt: the model itself
    std::optional<Program> onGpu;      // Describes a copy there, which has the same nodes; not on the CPU.
    std::vector<IValue> inputs;
    RunSettings settings;
    c10::Device device;
  };
  TorchRunner(const LoweredModel& model, Parts parts)
      : parts_(std::move(parts)), model_(usedModel(model, parts_.copy)), timer_(parts_.device) {}

  // One pass in which the indices of lookups are read before they are used. What else fails in it,
  // fails again in the pass that needs it.
  Status checkLookups() {
    const auto done = run([&] { return Interpreter(program()).run(freshInputs(), {}, {}); });
    if (!done || *done || done->error().code != ErrorCode::BadInput) return {};
    return tl::unexpected(done->error());
  }

  // As a CUDA graph, from here on.
  Status capture() {
    // Checks the copy on the GPU too: it may not share memory that the file's tensors share.
    for (const Program* each : {&model_.program, &program()}) {
      RETURN_IF_ERROR(canReplay(*each));
    }
    auto captured = run([&] {
      return CapturedPass::record(parts_.device,
                                  [&] { result_ = RunState(program()).module().forward(parts_.inputs); });
    });
    if (!captured) return tl::unexpected(captured.error());
    if (!*captured) return tl::unexpected(captured->error());
    captured_ = std::move(**captured);
    replayed_ = result_;
    return {};
  }

  Result<double> runOnceMs() override {
    if (captured_) return run([&] { return captured_->replayMs(timer_); });
    return run([&] {
      result_ = {};
      const std::vector<IValue> inputs = freshInputs();
      RunState state(program());
      torch::jit::Module module = state.module();
      return timer_.time([&] { result_ = module.forward(inputs); });
    });
  }

  Result<Tensors> outputs() override {
    drawTheSame();
    RETURN_IF_ERROR(runOnceMs());
    return run([&] { return toOutputs(captured_ ? replayed_ : result_, model_.graph().outputNames); });
  }

  Result<Tensors> runCapturing(const std::vector<graph::ValueId>& values, const Task& task) override {
    if (program().values.size() != model_.program.values.size()) return Runner::runCapturing(values, task);
    return run([&] { return seeRun(model_, program(), freshInputs(), values, task); })
        .and_then([](Result<Model::SeenRun>&& seen) { return std::move(seen); })
        .map([](Model::SeenRun&& seen) { return std::move(seen.values); });
  }

  Result<int64_t> peakBytes() override {
    return run([&] {
      result_ = {};
      const auto peak = std::make_shared<PeakMemory>(parts_.device.type());
      {
        const std::vector<IValue> inputs = freshInputs();
        RunState state(program());
        torch::jit::Module module = state.module();
        const c10::DebugInfoGuard watched(c10::DebugInfoKind::PROFILER_STATE, peak);
        result_ = module.forward(inputs);
      }
      result_ = {};
      return peak->most();
    });
  }

  Result<std::vector<OpTime>> opTimes(const Task& task) override {
    if (parts_.device.is_cpu()) return timesOf(task);
    auto timed = run([&] { return timesOf(task); });  // events may raise errors
    if (!timed) return tl::unexpected(timed.error());
    return *timed;
  }

  [[nodiscard]] std::string clock() const override {
    return captured_ ? std::string(timer_.name()) + ", CUDA graph" : std::string(timer_.name());
  }
  [[nodiscard]] std::string runtime() const override { return "LibTorch " TORCH_VERSION; }
  [[nodiscard]] int threads() const override {
    return parts_.settings.threads > 0 ? parts_.settings.threads : at::get_num_threads();
  }

 private:
  // Copies where a pass writes into them: each is measured on the same numbers.
  [[nodiscard]] std::vector<IValue> freshInputs() const {
    std::vector<IValue> inputs = parts_.inputs;
    if (!model_.program.writesInputs) return inputs;
    for (IValue& input : inputs) input = input.deepcopy();
    return inputs;
  }

  [[nodiscard]] const Program& program() const { return parts_.onGpu ? *parts_.onGpu : model_.program; }

  [[nodiscard]] Result<QueueWait> waitOnDevice() const {
    if (parts_.device.is_cpu()) return QueueWait();
    ASSIGN_OR_RETURN(const auto library, loadCudaGraphLibrary());
    constexpr double kCyclesOfMs = 1.7e6;  // about: boards differ
    return QueueWait([wait = library.wait](double ms) { wait(static_cast<int64_t>(ms * kCyclesOfMs)); });
  }

  Result<std::vector<OpTime>> timesOf(const Task& task) {
    ASSIGN_OR_RETURN(const auto wait, waitOnDevice());
    const Program& program = this->program();
    const DefaultType defaultType(model_.source.defaultType);
    const ThreadCount threads(parts_.settings.threads);
    Interpreter interpreter(program);
    interpreter.trustIndices();
    NodeTimes times(program, kInstrumentedPasses, parts_.device, wait);
    for (int pass = NodeTimes::kWarmUp; pass < kInstrumentedPasses;) {
      std::vector<IValue> inputs = freshInputs();
      ASSIGN_OR_RETURN(const auto done, interpreter.run(std::move(inputs), times.hook(pass), task));
      if (times.endPass(pass)) ++pass;
    }
    const std::vector<int> nodes = graphNodes(model_.lowered, program.nodes.size());
    const std::vector<double> medians = times.medians();
    std::vector<OpTime> ops;
    for (size_t i = 0; i < medians.size(); ++i) {
      const auto node = static_cast<int>(i);
      if (medians[i] > 0)
        ops.push_back({program.nodes[i].node->kind().toQualString(), nodes[i], medians[i], times.isLate(node)});
    }
    return ops;
  }

  template <class Pass>
  auto run(Pass&& pass) -> Result<decltype(pass())> {
    const RunWatch watch(RunWatch::Kind::Run);
    const c10::InferenceMode inference;
    const DefaultType defaultType(model_.source.defaultType);
    const ThreadCount threads(parts_.settings.threads);
    const c10::OptionalDeviceGuard onGpu(parts_.device.is_cpu() ? std::nullopt : std::optional(parts_.device));
    const auto failed = [](const std::string& why) {
      return fail(ErrorCode::RunFailed, "the model raised an error: " + why, "check that the inputs fit the model");
    };
    try {
      return pass();
    } catch (const c10::Error& error) {
      return failed(shortText(error));
    } catch (const std::bad_alloc&) {
      return failed("the memory does not suffice");
    } catch (const std::exception& error) {
      return failed(firstLine(error.what()));
    }
  }

  Parts parts_;
  const LoweredModel& model_;
  PassTimer timer_;
  IValue result_;  // The last pass made it: releasing it is no part of the time.
  std::unique_ptr<CapturedPass> captured_;
  IValue replayed_;  // each replay writes its result here
};

}  // namespace

Result<std::unique_ptr<Runner>> makeRunner(const LoweredModel& model, const Tensors& inputs,
                                           const RunSettings& settings) {
  const bool cuda = settings.device == Device::Cuda;
  RETURN_IF_ERROR(cuda ? loadCudaFor(settings.gpu) : Status());
  TorchRunner::Parts parts{
      .copy = {},
      .onGpu = {},
      .inputs = {},
      .settings = settings,
      .device = cuda ? c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(settings.gpu))
                     : c10::Device(c10::DeviceType::CPU)};
  if (settings.dtype != graph::DType::Unknown && settings.dtype != model.facts.dtype) {
    ASSIGN_OR_RETURN(auto copy, converted(model, settings.dtype));
    parts.copy = std::move(copy);
  }
  const LoweredModel& used = usedModel(model, parts.copy);
  ASSIGN_OR_RETURN(auto arguments, argumentsFor(used, inputs));
  parts.inputs = std::move(arguments);
  if (cuda) {
    try {
      ASSIGN_OR_RETURN(auto program, buildProgram(copyOnDevice(used.source.module, parts.device)));
      parts.onGpu = std::move(program);
      moveInputs(parts.inputs, parts.device);
    } catch (const std::exception& error) {
      return fail(ErrorCode::RunFailed, "the model could not be moved to the device: " + firstLine(error.what()));
    }
  }
  auto runner = std::make_unique<TorchRunner>(model, std::move(parts));
  RETURN_IF_ERROR(runner->checkLookups());
  if (settings.cudaGraph) {
    RETURN_IF_ERROR(runner->capture());
  }
  return runner;
}

}  // namespace normlens::formats::torchscript
