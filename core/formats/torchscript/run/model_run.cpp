#include "core/formats/torchscript/run/model_run.h"

#include <ATen/Parallel.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <unordered_map>

#include "core/formats/torchscript/program/arguments.h"
#include "core/formats/torchscript/program/error_text.h"
#include "core/formats/torchscript/program/tensor_convert.h"
#include "core/formats/torchscript/run/interpreter.h"

namespace normlens::formats::torchscript {
namespace {

using c10::IValue;
using Kind = ValueRecord::Kind;

// A list of tensors, of optional tensors, or of lists of them; long lists of numbers are not worth a record.
bool holdsTensors(const c10::IValue& content) {
  if (!content.isList()) return false;
  const auto elements = content.toListRef();
  return elements.empty() || elements[0].isTensor() || elements[0].isNone() || elements[0].isTuple() ||
         holdsTensors(elements[0]);
}

ValueRecord recordOf(const c10::IValue& content) {
  ValueRecord record;
  record.kind = Kind::Other;
  if (content.isTensor()) {
    const at::Tensor& tensor = content.toTensor();
    if (!tensor.defined()) return record;
    record.kind = Kind::Tensor;
    record.dtype = tensor.is_quantized() ? graph::DType::Quantized : dtypeOf(tensor.scalar_type());
    record.shape = tensor.sizes().vec();
  } else if (content.isInt() || content.isDouble() || content.isBool()) {
    record.kind = Kind::Scalar;
    record.dtype = content.isInt()      ? graph::DType::Int64
                   : content.isDouble() ? graph::DType::Float64
                                        : graph::DType::Bool;
  } else if (content.isTuple() || holdsTensors(content)) {
    record.kind = Kind::List;
    if (content.isTuple()) {
      for (const auto& element : content.toTupleRef().elements()) record.elements.push_back(recordOf(element));
    } else {
      for (const auto& element : content.toListRef()) record.elements.push_back(recordOf(element));
    }
  }
  return record;
}

// Keeps what stays true of a value that was seen twice (in a loop).
void merge(ValueRecord& seen, const ValueRecord& again) {
  if (seen.kind != again.kind) {
    seen = {};
    seen.kind = Kind::Other;
    return;
  }
  if (seen.dtype != again.dtype) seen.dtype = graph::DType::Unknown;
  if (seen.shape != again.shape) seen.shape.reset();
  if (seen.elements.size() != again.elements.size()) {
    seen.elements.clear();
    return;
  }
  for (size_t i = 0; i < seen.elements.size(); ++i) merge(seen.elements[i], again.elements[i]);
}

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

// A number as a tensor, a tensor as it is; undefined for anything else.
at::Tensor tensorIn(const IValue& value) {
  if (value.isTensor()) return value.toTensor();
  if (value.isInt()) return at::scalar_tensor(value.toInt(), at::kLong);
  if (value.isDouble()) return at::scalar_tensor(value.toDouble(), at::kDouble);
  if (value.isBool()) return at::scalar_tensor(value.toBool(), at::kBool);
  return {};
}

// A tensor of less than float64.
bool isNarrow(const IValue& content) {
  if (!content.isTensor() || !content.toTensor().defined()) return false;
  const at::Tensor& tensor = content.toTensor();
  return tensor.is_floating_point() && tensor.scalar_type() != at::kDouble && tensor.numel() > 0;
}

// The op, or what else the value comes from, in words.
std::string originOf(const Program& program, int value) {
  const ProgramValue& from = program.values[static_cast<size_t>(value)];
  if (from.producer == kNone)
    return from.constant == kNone ? "an input" : program.constants[static_cast<size_t>(from.constant)].sites[0].path;
  const ProgramNode& node = program.nodes[static_cast<size_t>(from.producer)];
  const std::string& path = program.frames[static_cast<size_t>(node.frame)].path;
  return std::string(node.node->kind().toQualString()) + (path.empty() ? "" : " in " + path);
}

at::Tensor elementOf(const IValue& content, const std::vector<int>& path) {
  IValue value = content;
  for (const int index : path) {
    if (!value.isTuple() || static_cast<size_t>(index) >= value.toTupleRef().elements().size()) return {};
    value = IValue(value.toTupleRef().elements()[static_cast<size_t>(index)]);
  }
  return tensorIn(value);
}

}  // namespace

void Recorder::note(size_t value, const c10::IValue& content) {
  ValueRecord& record = records_.values[value];
  if (record.kind == Kind::Unseen) {
    record = recordOf(content);
  } else {
    merge(record, recordOf(content));
  }
}

DefaultType::DefaultType(at::ScalarType type) : before_(c10::get_default_dtype()) {
  c10::set_default_dtype(c10::scalarTypeToTypeMeta(type));
}

DefaultType::~DefaultType() { c10::set_default_dtype(before_); }

ThreadCount::ThreadCount(int wanted) : before_(at::get_num_threads()) {
  if (wanted > 0 && wanted != before_) at::set_num_threads(wanted);
}

ThreadCount::~ThreadCount() {
  if (at::get_num_threads() != before_) at::set_num_threads(before_);
}

void drawTheSame() {
  constexpr uint64_t kSeed = 1;
  at::manual_seed(kSeed);
}

Result<std::vector<IValue>> argumentsFor(const LoweredModel& model, const Tensors& inputs) {
  const Program& program = model.program;
  if (model.neverRun) return tl::unexpected(*model.neverRun);
  RETURN_IF_ERROR(model.source.computeWeights({}));
  auto arguments =
      guarded([&] {
        return toArguments(program.inputs, model.source.module.get_method("forward").function().getSchema(), inputs,
                           model.facts.dtype);
      }).and_then([](auto made) { return made; });
  if (arguments && (program.writesInputs || program.writesState)) {
    for (IValue& argument : *arguments) argument = argument.deepcopy();  // the caller's stay as they are
  }
  return arguments;
}

Result<Tensors> runModel(const LoweredModel& model, const Tensors& inputs, const Task& task) {
  const DefaultType defaultType(model.source.defaultType);
  RETURN_IF_ERROR(task.check());
  ASSIGN_OR_RETURN(auto arguments, argumentsFor(model, inputs));
  const RunWatch watch(RunWatch::Kind::Run);
  const c10::InferenceMode inference;
  // One pass is not worth the optimizer's time.
  const torch::jit::GraphOptimizerEnabledGuard plain(false);
  drawTheSame();
  return guarded([&] {
    RunState state(model.program);
    IValue results = state.module().forward(std::move(arguments));
    if (!model.program.writtenLiterals.empty())
      results = results.deepcopy();  // they may be what is put back after the run
    return toOutputs(results, model.graph().outputNames);
  });
}

Status probeModel(LoweredModel& model, const Tensors& inputs, const Task& task) {
  ASSIGN_OR_RETURN(auto arguments, argumentsFor(model, inputs));
  task.report("finding the shapes");
  const RunWatch watch(RunWatch::Kind::Probe);
  Recorder recorder(model.program);
  Interpreter interpreter(model.program, Interpreter::Effort::ShapesOnly, [&] { recorder = Recorder(model.program); });
  interpreter.alsoTryBranches();
  ASSIGN_OR_RETURN(auto results, interpreter.run(std::move(arguments), recorder.hook(), task));
  model.adoptRecords(recorder.take());
  return {};
}

Result<Model::SeenRun> seeRun(const LoweredModel& model, const Program& program, std::vector<IValue> arguments,
                              const std::vector<graph::ValueId>& values, const Task& task) {
  const DefaultType defaultType(model.source.defaultType);
  const Lowered& lowered = model.lowered;
  Tensors captured;
  struct CapturedElement {
    size_t index;                  // in `captured`
    const std::vector<int>* path;  // element of the content
  };
  std::unordered_map<int, std::vector<CapturedElement>> wanted;  // by program value
  for (const graph::ValueId id : values) {
    const auto value = static_cast<size_t>(id);
    wanted[lowered.programValue[value]].push_back({captured.size(), &lowered.elementPath[value]});
    captured.push_back({lowered.graph.value(id).name, {}});
  }
  drawTheSame();
  Interpreter interpreter(program);
  std::string narrowOp;
  const auto hook = [&](int value, const IValue& content) {
    if (narrowOp.empty() && isNarrow(content)) narrowOp = originOf(program, value);
    const auto found = wanted.find(value);
    if (found == wanted.end()) return;
    for (const CapturedElement& element : found->second) {
      const at::Tensor tensor = elementOf(content, *element.path);
      // A copy: an op in place may still change it.
      if (tensor.defined()) captured[element.index].view = viewOf(tensor.clone(at::MemoryFormat::Contiguous).cpu());
    }
  };
  ASSIGN_OR_RETURN(auto results, interpreter.run(std::move(arguments), hook, task));
  return guarded([&] {
    return Model::SeenRun{toOutputs(results.at(0), lowered.graph.outputNames), std::move(captured), narrowOp};
  });
}

}  // namespace normlens::formats::torchscript
