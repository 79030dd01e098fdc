#include "core/formats/onnx/session.h"

#ifdef NORMLENS_HAVE_ONNXRUNTIME

#include <algorithm>
#include <chrono>
#include <optional>
#include <stop_token>

#include "core/formats/onnx/dtypes.h"
#include "core/formats/onnx/float_cast.h"
#include "core/formats/onnx/input_sizes.h"
#include "core/formats/onnx/ort_environment.h"
#include "core/formats/onnx/ort_kernels.h"
#include "core/formats/onnx/ort_values.h"
#include "core/formats/onnx/retype.h"

namespace normlens::formats::onnx {
namespace {

tl::unexpected<Error> runFailed(const std::string& what) {
  return fail(ErrorCode::RunFailed, "the model raised an error: " + plainOrtText(what),
              "check that the inputs fit the model");
}

struct Port {
  std::string name;
  graph::DType dtype = graph::DType::Unknown;  // Unknown: not a tensor, or of a type that we have no view of
};

Port portOf(std::string name, const Ort::TypeInfo& type) {
  Port port{std::move(name), graph::DType::Unknown};
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
  std::vector<std::shared_ptr<const void>> memory;
  std::vector<Ort::Value> shared;
  std::vector<Port> inputs, outputs;
  std::optional<Ort::Session> session;

  // The weights as values on our memory, under their names. Said twice: once so that they are found where the model has
  // no data, once so that the session uses them as they are instead of copying them.
  void shareWeights(Ort::SessionOptions& options) {
    std::vector<std::string> names;
    for (const auto& [name, weight] : *weights) {
      SharedValue made = shareTensor(fileCopy(weight).value_or(weight.view));
      names.push_back(name);
      shared.push_back(std::move(made.value));
      memory.push_back(std::move(made.memory));
    }
    if (!names.empty()) options.AddExternalInitializers(names, shared);
    for (size_t i = 0; i < names.size(); ++i) options.AddInitializer(names[i].c_str(), shared[i]);
  }

  // A weight that the runtime cannot use where it is mapped is copied anyway: from the file, so that the mapping's
  // pages do not stay in memory beside the copy.
  [[nodiscard]] std::optional<graph::TensorView> fileCopy(const Weight& weight) const {
    const bool inFile = file && weight.asOpened && weight.storedAt.location.empty();
    if (!inFile || suitsRuntime(weight.view)) return std::nullopt;
    const FreshTensor fresh = freshTensor(weight.view.dtype, weight.view.shape);
    const auto bytes = static_cast<size_t>(graph::byteCount(weight.view));
    if (weight.storedAt.bytes != bytes || !file->readAt(weight.storedAt.offset, {fresh.bytes, bytes})) {
      return std::nullopt;
    }
    return fresh.view;
  }

  void open(SessionModel model, bool optimised) {
    sites = std::move(model.sites);
    weights = std::move(model.weights);
    file = std::move(model.file);
    ops.receiver().sites = &sites;
    Ort::SessionOptions options;
    options.SetGraphOptimizationLevel(optimised ? ORT_ENABLE_ALL : ORT_DISABLE_ALL);
    options.SetLogSeverityLevel(ORT_LOGGING_LEVEL_FATAL);
    if (!optimised) {
      // One run is not worth packed copies of the weights, or threads that wait without sleeping.
      options.AddConfigEntry("session.disable_prepacking", "1");
      options.AddConfigEntry("session.intra_op.allow_spinning", "0");
      // In sequential mode the runtime looks for memory to reuse through a list that grows with the model: minutes for
      // 50,000 nodes. In parallel mode, which needs two threads to count as such, it does not.
      options.DisableMemPattern();
      options.DisableCpuMemArena();  // which grows by doubling and gives nothing back
      options.SetExecutionMode(ORT_PARALLEL);
      options.SetInterOpNumThreads(2);
      options.AddConfigEntry("session.inter_op.allow_spinning", "0");
    }
    ops.addTo(options);
    shareWeights(options);
    std::string bytes;
    if (!model.proto.SerializeToString(&bytes)) throw std::runtime_error("its graph without the weights is over 2 GB");
    model.proto.Clear();
    session.emplace(*environment, bytes.data(), bytes.size(), options);
    readPorts();
  }

  void readPorts() {
    Ort::AllocatorWithDefaultOptions allocator;
    for (size_t i = 0; i < session->GetInputCount(); ++i) {
      inputs.push_back(portOf(session->GetInputNameAllocated(i, allocator).get(), session->GetInputTypeInfo(i)));
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
      auto converted = convertInput(*view, inputs[i].dtype, inputs[i].name);
      if (!converted) return tl::unexpected(converted.error());
      values.push_back(shareTensor(*converted));
    }
    return values;
  }

  [[nodiscard]] static std::vector<const char*> namesOf(const std::vector<Port>& ports) {
    std::vector<const char*> names;
    for (const Port& port : ports) names.push_back(port.name.c_str());
    return names;
  }

  std::vector<Ort::Value> run(const std::vector<SharedValue>& values, const Ort::RunOptions& options) {
    const auto in = namesOf(inputs), out = namesOf(outputs);
    std::vector<const OrtValue*> given;
    for (const SharedValue& value : values) given.push_back(value.value);
    std::vector<Ort::Value> results;
    for (size_t i = 0; i < out.size(); ++i) results.emplace_back(nullptr);
    static_assert(sizeof(Ort::Value) == sizeof(OrtValue*));
    Ort::ThrowOnError(Ort::GetApi().Run(*session, options, in.data(), given.data(), given.size(), out.data(),
                                        out.size(), reinterpret_cast<OrtValue**>(results.data())));
    return results;
  }
};

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

Result<std::shared_ptr<Session>> Session::open(const OnnxSource& source, const SessionOptions& options) {
  if (const std::string unknown = unknownOperator(*source.skeleton); !unknown.empty()) {
    return fail(ErrorCode::Unsupported,
                "ONNX Runtime does not know the operator " + unknown + ": the model can be viewed, but not run");
  }
  // As it is; else with our kernels, where a model of doubles needs some; else with fewer taps.
  std::vector<SessionWishes> attempts{{options.taps, false, false}};
  if (!source.float64Twin && mentionsType(*source.skeleton, TensorProto::DOUBLE)) {
    attempts.push_back({options.taps, false, true});
  }
  if (options.taps) attempts.push_back({options.taps, true, attempts.size() > 1});
  std::string problem;
  for (const SessionWishes& wishes : attempts) {
    auto model = makeSessionModel(source, wishes);
    if (!model) return fail(ErrorCode::Unsupported, "the model cannot be run: " + model.error().message);
    try {
      auto impl = std::make_unique<Impl>();
      impl->open(std::move(*model), options.optimised);
      return std::shared_ptr<Session>(new Session(std::move(impl)));
    } catch (const std::exception& error) {
      if (problem.empty()) problem = plainOrtText(error.what());
    }
  }
  return fail(ErrorCode::Unsupported, "ONNX Runtime cannot run the model: " + problem);
}

Result<Tensors> Session::run(const Tensors& inputs, const Task& task, const TapSink& sink) {
  if (auto go = task.check(); !go) return tl::unexpected(go.error());
  auto values = impl_->feed(inputs);
  if (!values) return tl::unexpected(values.error());
  Ort::RunOptions options;
  const std::stop_callback stop(task.stop, [&] { options.SetTerminate(); });
  impl_->ops.receiver().sink = &sink;
  Tensors outputs;
  try {
    auto results = impl_->run(*values, options);
    impl_->ops.receiver().sink = nullptr;
    for (size_t i = 0; i < results.size(); ++i) {
      auto done = appendOutput(impl_->outputs[i].name, std::move(results[i]), outputs);
      if (!done) return tl::unexpected(done.error());
    }
  } catch (const std::exception& error) {
    impl_->ops.receiver().sink = nullptr;
    if (auto go = task.check(); !go) return tl::unexpected(go.error());
    return runFailed(error.what());
  }
  if (auto go = task.check(); !go) return tl::unexpected(go.error());
  return outputs;
}

Result<std::function<Result<double>()>> Session::prepare(const Tensors& inputs) {
  auto values = impl_->feed(inputs);
  if (!values) return tl::unexpected(values.error());
  auto kept = std::make_shared<std::vector<SharedValue>>(std::move(*values));
  return [this, kept]() -> Result<double> {
    using Clock = std::chrono::steady_clock;
    try {
      const Ort::RunOptions options;
      const auto start = Clock::now();
      const auto results = impl_->run(*kept, options);
      return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    } catch (const std::exception& error) {
      return runFailed(error.what());
    }
  };
}

}  // namespace normlens::formats::onnx

#else

namespace normlens::formats::onnx {

struct Session::Impl {};
Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

Result<std::shared_ptr<Session>> Session::open(const OnnxSource&, const SessionOptions&) {
  return fail(ErrorCode::Unsupported,
              "this build of NormLens has no ONNX Runtime: ONNX models open and fold, but do not run",
              "run packaging/setup and build again");
}

Result<Tensors> Session::run(const Tensors&, const Task&, const TapSink&) {
  return fail(ErrorCode::Unsupported, "this build of NormLens has no ONNX Runtime");
}

Result<std::function<Result<double>()>> Session::prepare(const Tensors&) {
  return fail(ErrorCode::Unsupported, "this build of NormLens has no ONNX Runtime");
}

}  // namespace normlens::formats::onnx

#endif
