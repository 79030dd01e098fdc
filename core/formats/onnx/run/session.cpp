#include "core/formats/onnx/run/session.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <stop_token>

#include "core/base/run_watch.h"
#include "core/formats/onnx/run/counted_memory.h"
#include "core/formats/onnx/run/ort_environment.h"
#include "core/formats/onnx/run/ort_kernels.h"
#include "core/formats/onnx/run/ort_values.h"
#include "core/formats/onnx/run/runtime.h"
#include "core/formats/onnx/run/stand_ins.h"
#include "core/formats/onnx/source/bodies.h"
#include "core/formats/onnx/tensors/float_cast.h"
#include "core/formats/onnx/tensors/tensor_data.h"
#include "core/formats/onnx/types/input_sizes.h"
#include "core/formats/onnx/types/retype.h"

namespace normlens::formats::onnx {

struct SessionPort {
  std::string name;
  graph::DType dtype = graph::DType::Unknown;  // Unknown: not a tensor, or of a type that we have no view of
};

namespace {

// In sequential mode the runtime looks through all values for memory to reuse, at each node: up to 0.2 μs for each pair
// of nodes, minutes for 50,000. In parallel mode it does not, but there the caller of a run waits without sleeping, and
// takes a processor from the run. A run's products read the weights at some 5 GB/s, and a session has about four runs.
bool runsInSequence(const ModelProto& model, const Weights& weights) {
  constexpr int64_t kBytesOfAPair = 250;
  int64_t bytes = 0;
  for (const auto& [name, weight] : weights) bytes += graph::byteCount(weight.view);
  int64_t pairs = int64_t{model.graph().node_size()} * model.graph().node_size();
  eachNode(model.graph().node(), [&](const auto& node) {
    eachBody(node, [&](const GraphProto& body) { pairs += int64_t{body.node_size()} * body.node_size(); });
  });
  return pairs <= bytes / kBytesOfAPair;
}

tl::unexpected<Error> runFailed(const std::string& what) {
  return fail(ErrorCode::RunFailed, "the model raised an error: " + plainOrtText(what),
              "check that the inputs fit the model");
}

// Their tensors become inputs of the same name, type and shape.
void makeInputs(ModelProto& model, const std::unordered_set<std::string>& weights) {
  if (weights.empty()) return;
  GraphProto& graph = *model.mutable_graph();
  std::unordered_set<std::string> known;
  for (const auto& input : graph.input()) known.insert(input.name());
  for (const TensorProto& tensor : graph.initializer()) {
    if (!weights.contains(tensor.name()) || known.contains(tensor.name())) continue;  // known: older than IR version 4
    auto& input = *graph.add_input();
    input.set_name(tensor.name());
    auto& type = *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(tensor.data_type());
    for (const int64_t size : tensor.dims()) type.mutable_shape()->add_dim()->set_dim_value(size);
  }
  keepOnly(*graph.mutable_initializer(), [&](const auto& tensor) { return !weights.contains(tensor.name()); });
}

SessionPort portOf(std::string name, const Ort::TypeInfo& type) {
  SessionPort port{std::move(name), graph::DType::Unknown};
  if (type.GetONNXType() == ONNX_TYPE_TENSOR) {
    port.dtype = fromOnnxType(static_cast<int32_t>(type.GetTensorTypeAndShapeInfo().GetElementType()));
  }
  return port;
}

}  // namespace

struct Session::Impl {
  // In the order in which they have to be made; the session goes first.
  std::shared_ptr<Ort::Env> environment = ortEnvironment();
  OwnOps ops;
  std::vector<TapSite> sites;
  std::shared_ptr<const Weights> weights;
  std::shared_ptr<const MappedFile> file;
  std::shared_ptr<CopiedWeights> copiedWeights;  // the source's
  std::vector<std::shared_ptr<const void>> memory;
  std::vector<Ort::Value> shared;
  std::vector<std::string> weightNames;  // those that are given with each run
  std::vector<Ort::Value> weightValues;
  std::vector<SessionPort> inputs, outputs;
  std::optional<Ort::Session> session;
  std::optional<Ort::Allocator> gpuMemory;  // the session's, for outputs that stay in place
  Device device = Device::Cpu;
  int gpu = 0;

  // The weights as values on our memory. The runtime copies large initializers when it reads the model; inputs it takes
  // as they are. Where it optimizes it has to know the numbers.
  void shareWeights(Ort::SessionOptions& options, const std::unordered_set<std::string>& onlyForShape, bool asInputs,
                    ModelProto& proto) {
    std::vector<std::string> names;
    std::vector<Ort::Value> initializers;
    const auto zeros = zerosFor(onlyForShape);
    for (const auto& [name, weight] : *weights) {
      SharedValue made = zeros && onlyForShape.contains(name)
                             ? shareTensor(standIn(weight.view.dtype, weight.view.shape, zeros))
                             : shareTensor(fileCopy(weight).value_or(weight.view));
      memory.push_back(std::move(made.memory));
      if (asInputs && isLargeFloat(weight.view)) {
        weightNames.push_back(name);
        weightValues.push_back(std::move(made.value));
      } else {
        names.push_back(name);
        initializers.push_back(std::move(made.value));
      }
    }
    makeInputs(proto, {weightNames.begin(), weightNames.end()});
    // Set twice: once so that they are found where the model has no data, once so that the session uses them as they
    // are instead of copying them.
    if (!names.empty()) options.AddExternalInitializers(names, initializers);
    for (size_t i = 0; i < names.size(); ++i) options.AddInitializer(names[i].c_str(), initializers[i]);
    std::ranges::move(initializers, std::back_inserter(shared));
  }

  // As many as the largest of these weights needs.
  [[nodiscard]] std::shared_ptr<const std::byte> zerosFor(const std::unordered_set<std::string>& names) const {
    int64_t most = 0;
    for (const auto& [name, weight] : *weights) {
      if (names.contains(name)) most = std::max(most, graph::byteCount(weight.view));
    }
    return most > 0 ? zeros(static_cast<size_t>(most)) : nullptr;
  }

  // A weight that the runtime cannot use where it is mapped is copied anyway: from the file, so that the mapping's
  // pages do not stay in memory beside the copy.
  [[nodiscard]] std::optional<graph::TensorView> fileCopy(const Weight& weight) const {
    const bool inFile = file && weight.asOpened && weight.storedAt.location.empty();
    if (!inFile || suitsRuntime(weight.view)) return std::nullopt;
    return copiedWeights->get(weight.view, [&]() -> std::optional<graph::TensorView> {
      const FreshTensor fresh = freshTensor(weight.view.dtype, weight.view.shape);
      const auto bytes = static_cast<size_t>(graph::byteCount(weight.view));
      if (weight.storedAt.bytes != bytes || !file->readAt(weight.storedAt.offset, {fresh.bytes, bytes}))
        return std::nullopt;
      return fresh.view;
    });
  }

  void open(SessionModel model, const SessionOptions& wanted, bool weightsAsInputs) {
    sites = std::move(model.sites);
    weights = std::move(model.weights);
    file = std::move(model.file);
    ops.receiver().sites = &sites;
    device = wanted.measures.device;
    gpu = wanted.measures.gpu;
    Ort::SessionOptions options;
    options.SetGraphOptimizationLevel(wanted.optimised ? ORT_ENABLE_ALL : ORT_DISABLE_ALL);
    options.SetLogSeverityLevel(ORT_LOGGING_LEVEL_FATAL);
    if (!wanted.optimised) {
      // One run is not worth packed copies of the weights, or threads that wait without sleeping.
      options.AddConfigEntry("session.disable_prepacking", "1");
      options.AddConfigEntry("session.intra_op.allow_spinning", "0");
      options.DisableMemPattern();
      options.DisableCpuMemArena();  // which grows by doubling and frees nothing
      if (!runsInSequence(model.proto, *weights)) {
        options.SetExecutionMode(ORT_PARALLEL);
        options.SetInterOpNumThreads(2);  // Fewer are no parallel mode.
        options.AddConfigEntry("session.inter_op.allow_spinning", "0");
      }
    }
    applyMeasures(options, wanted.measures);
    ops.addTo(options);
    shareWeights(options, wanted.onlyForShape, weightsAsInputs, model.proto);
    std::string bytes;
    if (!model.proto.SerializeToString(&bytes)) throw std::runtime_error("its graph without the weights is over 2 GB");
    model.proto.Clear();
    session.emplace(*environment, bytes.data(), bytes.size(), options);
    readPorts();
  }

  static void applyMeasures(Ort::SessionOptions& options, const SessionMeasures& measures) {
    if (measures.threads > 0) options.SetIntraOpNumThreads(measures.threads);
    if (!measures.profile.empty()) options.EnableProfiling(measures.profile.c_str());
    if (measures.memory) {
      // Each tensor by itself, so that what is released is seen.
      options.DisableMemPattern();
      options.DisableCpuMemArena();
      options.AddConfigEntry("session.use_env_allocators", "1");
    }
    if (measures.device == Device::Cuda) appendCuda(options, measures);
  }

  static void appendCuda(Ort::SessionOptions& options, const SessionMeasures& measures) {
    if (!measures.cudaGraph) {
      OrtCUDAProviderOptions cuda;
      cuda.device_id = measures.gpu;
      options.AppendExecutionProvider_CUDA(cuda);
      return;
    }
    OrtCUDAProviderOptionsV2* made = nullptr;
    Ort::ThrowOnError(Ort::GetApi().CreateCUDAProviderOptions(&made));
    const std::unique_ptr<OrtCUDAProviderOptionsV2, decltype(OrtApi::ReleaseCUDAProviderOptions)> cuda(
        made, Ort::GetApi().ReleaseCUDAProviderOptions);
    const std::string gpu = std::to_string(measures.gpu);
    const char *keys[] = {"device_id", "enable_cuda_graph"}, *values[] = {gpu.c_str(), "1"};
    Ort::ThrowOnError(Ort::GetApi().UpdateCUDAProviderOptions(cuda.get(), keys, values, std::size(keys)));
    options.AppendExecutionProvider_CUDA_V2(*cuda);
  }

  void readPorts() {
    Ort::AllocatorWithDefaultOptions allocator;
    for (size_t i = 0; i < session->GetInputCount(); ++i) {
      std::string name = session->GetInputNameAllocated(i, allocator).get();
      if (std::ranges::find(weightNames, name) != weightNames.end()) continue;
      inputs.push_back(portOf(std::move(name), session->GetInputTypeInfo(i)));
    }
    for (size_t i = 0; i < session->GetOutputCount(); ++i) {
      outputs.push_back(portOf(session->GetOutputNameAllocated(i, allocator).get(), session->GetOutputTypeInfo(i)));
    }
  }

  Result<std::vector<SharedValue>> feed(const Tensors& given) const {
    std::vector<SharedValue> values;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto* view = inputFor(given, inputs[i].name, i);
      if (!view) {
        return fail(ErrorCode::BadInput, "the model takes " + std::to_string(inputs.size()) + " inputs, " +
                                             std::to_string(given.size()) + " were given");
      }
      if (inputs[i].dtype == graph::DType::Unknown) {
        return fail(ErrorCode::Unsupported,
                    "the input '" + inputs[i].name + "' is of a type that NormLens cannot give");
      }
      ASSIGN_OR_RETURN(auto converted, convertInput(*view, inputs[i].dtype, inputs[i].name));
      values.push_back(shareTensor(converted));
    }
    return values;
  }

  [[nodiscard]] static std::vector<const char*> namesOf(const std::vector<SessionPort>& ports) {
    std::vector<const char*> names;
    for (const SessionPort& port : ports) names.push_back(port.name.c_str());
    return names;
  }

  // The inputs go to the device once; the outputs stay there, at `places` where there are some.
  std::shared_ptr<Ort::IoBinding> bind(const std::vector<SharedValue>& values,
                                       const std::vector<Ort::Value>& places = {}) {
    auto binding = std::make_shared<Ort::IoBinding>(*session);
    for (size_t i = 0; i < inputs.size(); ++i) binding->BindInput(inputs[i].name.c_str(), values[i].value);
    for (size_t i = 0; i < weightNames.size(); ++i) binding->BindInput(weightNames[i].c_str(), weightValues[i]);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const char* name = outputs[i].name.c_str();
      places.empty() ? binding->BindOutput(name, onGpu()) : binding->BindOutput(name, places[i]);
    }
    binding->SynchronizeInputs();
    return binding;
  }

  [[nodiscard]] Ort::MemoryInfo onGpu() const { return {"Cuda", OrtDeviceAllocator, gpu, OrtMemTypeDefault}; }

  // Memory of this session's on the GPU, of the sizes that one run returns.
  std::vector<Ort::Value> placesForOutputs(const std::vector<SharedValue>& values, Impl& plain) {
    const auto binding = plain.bind(values);
    plain.session->Run(Ort::RunOptions(), *binding);
    binding->SynchronizeOutputs();
    std::vector<Ort::Value> places;
    for (const Ort::Value& output : binding->GetOutputValues()) {
      const auto facts = output.GetTensorTypeAndShapeInfo();
      const auto shape = facts.GetShape();
      if (!gpuMemory) gpuMemory.emplace(*session, onGpu());
      places.push_back(Ort::Value::CreateTensor(*gpuMemory, shape.data(), shape.size(), facts.GetElementType()));
    }
    return places;
  }

  std::vector<Ort::Value> run(const std::vector<SharedValue>& values, const Ort::RunOptions& options) {
    auto in = namesOf(inputs);
    const auto out = namesOf(outputs);
    std::vector<const OrtValue*> given;
    for (const SharedValue& value : values) given.push_back(value.value);
    for (size_t i = 0; i < weightNames.size(); ++i) {
      in.push_back(weightNames[i].c_str());
      given.push_back(weightValues[i]);
    }
    std::vector<Ort::Value> results;
    for (size_t i = 0; i < out.size(); ++i) results.emplace_back(nullptr);
    static_assert(sizeof(Ort::Value) == sizeof(OrtValue*));
    Ort::ThrowOnError(Ort::GetApi().Run(*session, options, in.data(), given.data(), given.size(), out.data(),
                                        out.size(), reinterpret_cast<OrtValue**>(results.data())));
    return results;
  }
};

namespace {

// An output that is nothing but an input lies where that input does.
void keepSharedMemory(Tensors& outputs, const std::vector<SharedValue>& inputs) {
  for (NamedTensor& output : outputs) {
    for (const SharedValue& input : inputs) {
      if (input.value.GetTensorRawData() == output.view.data) output.view.owner = input.memory;
    }
  }
}

}  // namespace

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

Result<std::shared_ptr<Session>> Session::open(const OnnxSource& source, const SessionOptions& options) {
  if (const std::string unknown = unknownOperator(*source.skeleton); !unknown.empty()) {
    return fail(ErrorCode::Unsupported,
                "ONNX Runtime does not know the operator " + unknown + ": the model can be viewed, but not run");
  }
  RETURN_IF_ERROR(runtimeVersion());
  RETURN_IF_ERROR(computeWeights(source, {}));
  // As it is; else with weights as constants, which some kernels insist on; else with our kernels, where a model of
  // doubles needs some; else with fewer taps.
  std::vector<std::pair<SessionWishes, bool>> attempts{{{.taps = options.taps}, false}};
  if (!options.optimised) attempts.insert(attempts.begin(), {{.taps = options.taps, .turnedInPlace = true}, true});
  const bool doubles =
      options.measures.ownKernels && !source.float64Twin && mentionsType(*source.skeleton, TensorProto::DOUBLE);
  if (doubles) attempts.push_back({{.taps = options.taps, .ownKernels = true}, false});
  if (options.taps) attempts.push_back({{.taps = options.taps, .tapKnownOnly = true, .ownKernels = doubles}, false});
  const RunWatch watch(RunWatch::Kind::Run);  // constants are folded then: ops run
  std::string problem;
  for (const auto& [wishes, weightsAsInputs] : attempts) {
    auto model = makeSessionModel(source, wishes);
    if (!model) return fail(ErrorCode::Unsupported, "the model cannot be run: " + model.error().message);
    if (!options.measures.profile.empty()) nameNodesByOutputs(*model);
    try {
      auto impl = std::make_unique<Impl>();
      impl->copiedWeights = source.copied;
      impl->open(std::move(*model), options, weightsAsInputs);
      return std::shared_ptr<Session>(new Session(std::move(impl)));
    } catch (const std::exception& error) {
      if (problem.empty()) problem = plainOrtText(error.what());
    }
  }
  const char* what = options.measures.cudaGraph ? "capture the model as a CUDA graph: " : "run the model: ";
  return fail(ErrorCode::Unsupported, std::string("ONNX Runtime cannot ") + what + problem);
}

Result<Tensors> Session::run(const Tensors& inputs, const Task& task, const TapSink& sink) {
  RETURN_IF_ERROR(task.check());
  const RunWatch watch(RunWatch::Kind::Run);
  ASSIGN_OR_RETURN(auto values, impl_->feed(inputs));
  Ort::RunOptions options;
  const std::stop_callback stop(task.stop, [&] { options.SetTerminate(); });
  impl_->ops.receiver().sink = &sink;
  Tensors outputs;
  try {
    auto results = impl_->run(values, options);
    impl_->ops.receiver().sink = nullptr;
    for (size_t i = 0; i < results.size(); ++i) {
      RETURN_IF_ERROR(appendOutput(impl_->outputs[i].name, std::move(results[i]), outputs));
    }
    keepSharedMemory(outputs, values);
  } catch (const std::exception& error) {
    impl_->ops.receiver().sink = nullptr;
    RETURN_IF_ERROR(task.check());
    return runFailed(error.what());
  }
  RETURN_IF_ERROR(task.check());
  return outputs;
}

Result<std::function<Result<double>()>> Session::prepare(const Tensors& inputs, Session* plain) {
  ASSIGN_OR_RETURN(auto values, impl_->feed(inputs));
  auto kept = std::make_shared<std::vector<SharedValue>>(std::move(values));
  auto places = std::make_shared<std::vector<Ort::Value>>();
  std::shared_ptr<Ort::IoBinding> binding;
  try {
    if (plain) *places = impl_->placesForOutputs(*kept, *plain->impl_);
    if (impl_->device == Device::Cuda) binding = impl_->bind(*kept, *places);
  } catch (const std::exception& error) {
    return runFailed(error.what());
  }
  return [this, kept, places, binding]() -> Result<double> {
    using Clock = std::chrono::steady_clock;
    const RunWatch watch(RunWatch::Kind::Run);
    try {
      const Ort::RunOptions options;
      const auto start = Clock::now();
      std::vector<Ort::Value> results;
      if (binding) {
        impl_->session->Run(options, *binding);
        binding->SynchronizeOutputs();
      } else {
        results = impl_->run(*kept, options);
      }
      return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    } catch (const std::exception& error) {
      return runFailed(error.what());
    }
  };
}

Result<std::string> Session::endProfile() {
  try {
    Ort::AllocatorWithDefaultOptions allocator;
    return std::string(impl_->session->EndProfilingAllocated(allocator).get());
  } catch (const std::exception& error) {
    return runFailed(error.what());
  }
}

}  // namespace normlens::formats::onnx
