// Running: through torch's own executor, or op by op where values are to be seen.
#include <chrono>
#include <cstdlib>

#include "core/formats/torchscript/arguments.h"
#include "core/formats/torchscript/error_text.h"
#include "core/formats/torchscript/interpreter.h"
#include "core/formats/torchscript/torchscript_model.h"

#include <torch/csrc/jit/runtime/graph_executor.h>

namespace normlens::formats::torchscript {
namespace {

using c10::IValue;

tl::unexpected<Error> runFailed(const std::string& why) {
  return fail(ErrorCode::RunFailed, "the model raised an error: " + why, "check that the inputs fit the model");
}

// Calls f and turns torch's exceptions into an Error.
template <class F>
auto guarded(F&& f) -> Result<decltype(f())> {
  try {
    return f();
  } catch (const c10::Error& error) {
    return runFailed(shortText(error));
  } catch (const std::exception& error) {
    return runFailed(firstLine(error.what()));
  }
}

// A module that may be run: the model's own, or a copy where a run would change it.
torch::jit::Module runnable(const torch::jit::Module& module, const Program& program) {
  return program.writesState ? module.deepcopy() : module;
}

class TorchRunner final : public Runner {
 public:
  TorchRunner(torch::jit::Module module, std::vector<IValue> inputs)
      : module_(std::move(module)), inputs_(std::move(inputs)) {}

  Result<double> runOnceMs() override {
    const c10::InferenceMode inference;
    return guarded([&] {
      using Clock = std::chrono::steady_clock;
      const auto start = Clock::now();
      const IValue result = module_.forward(inputs_);
      return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    });
  }

 private:
  torch::jit::Module module_;
  std::vector<IValue> inputs_;
};

}  // namespace

Result<std::vector<IValue>> TorchScriptModel::argumentsFor(const Tensors& inputs) const {
  return guarded([&] {
           return toArguments(source_.module.get_method("forward").function().getSchema(), inputs, facts_.dtype);
         })
      .and_then([](auto arguments) { return arguments; });
}

Result<Tensors> TorchScriptModel::run(const Tensors& inputs, const Task& task) const {
  if (auto go = task.check(); !go) return tl::unexpected(go.error());
  auto arguments = argumentsFor(inputs);
  if (!arguments) return tl::unexpected(arguments.error());
  const c10::InferenceMode inference;
  // One pass is not worth the optimiser's time.
  const torch::jit::GraphOptimizerEnabledGuard plain(false);
  return guarded([&] { return toOutputs(runnable(source_.module, program_).forward(std::move(*arguments))); });
}

Result<std::unique_ptr<Runner>> TorchScriptModel::runner(const Tensors& inputs) const {
  auto arguments = argumentsFor(inputs);
  if (!arguments) return tl::unexpected(arguments.error());
  return std::make_unique<TorchRunner>(runnable(source_.module, program_), std::move(*arguments));
}

Result<Tensors> TorchScriptModel::runCapturing(const Tensors& inputs, const std::vector<graph::ValueId>& values,
                                               const Task& task) const {
  auto arguments = argumentsFor(inputs);
  if (!arguments) return tl::unexpected(arguments.error());
  Tensors captured;
  std::unordered_map<int, std::vector<size_t>> wanted;  // program value -> places in `captured`
  for (const graph::ValueId id : values) {
    wanted[lowered_.programValue[static_cast<size_t>(id)]].push_back(captured.size());
    captured.push_back({lowered_.graph.value(id).name, {}});
  }
  Interpreter interpreter(program_);
  const auto hook = [&](int value, const IValue& content) {
    const auto found = wanted.find(value);
    if (found == wanted.end() || !content.isTensor() || !content.toTensor().defined()) return;
    // A copy: an op in place may still change it.
    for (const size_t place : found->second)
      captured[place].view = viewOf(content.toTensor().clone(at::MemoryFormat::Contiguous));
  };
  auto results = interpreter.run(std::move(*arguments), hook, task);
  if (!results) return tl::unexpected(results.error());
  return captured;
}

Result<std::string> TorchScriptModel::narrowOp(const Tensors& inputs, const Task& task) const {
  auto arguments = argumentsFor(inputs);
  if (!arguments) return tl::unexpected(arguments.error());
  std::string found;
  Interpreter interpreter(program_);
  const auto hook = [&](int value, const IValue& content) {
    if (!found.empty() || !content.isTensor() || !content.toTensor().defined()) return;
    const at::Tensor& tensor = content.toTensor();
    if (!tensor.is_floating_point() || tensor.scalar_type() == at::kDouble || tensor.numel() == 0) return;
    const ProgramValue& from = program_.values[static_cast<size_t>(value)];
    if (from.producer == kNone) {
      found = from.constant == kNone ? "an input" : program_.constants[static_cast<size_t>(from.constant)].sites[0].path;
      return;
    }
    const ProgramNode& node = program_.nodes[static_cast<size_t>(from.producer)];
    const std::string& path = program_.frames[static_cast<size_t>(node.frame)].path;
    found = std::string(node.node->kind().toQualString()) + (path.empty() ? "" : " in " + path);
  };
  auto results = interpreter.run(std::move(*arguments), hook, task);
  if (!results) return tl::unexpected(results.error());
  return found;
}

}  // namespace normlens::formats::torchscript
