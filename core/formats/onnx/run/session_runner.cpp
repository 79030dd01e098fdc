
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <unordered_map>

#include "core/base/machine.h"
#include "core/formats/onnx/run/counted_memory.h"
#include "core/formats/onnx/run/node_profile.h"
#include "core/formats/onnx/run/runtime.h"
#include "core/formats/onnx/run/session.h"

namespace normlens::formats::onnx {
namespace {

constexpr int kInstrumentedPasses = 5;

// A name for a file that no other process or run takes.
std::string profilePrefix() {
  static std::atomic<int> runs{0};
  const auto name = "normlens_profile_" + std::to_string(getpid()) + "_" + std::to_string(++runs);
  return (std::filesystem::temp_directory_path() / name).string();
}

class SessionRunner final : public Runner {
 public:
  struct Parts {
    OnnxSource source;
    Tensors inputs;
    RunSettings settings;
    SessionMeasures measures;
  };
  SessionRunner(const Lowered& lowered, Parts parts, std::shared_ptr<Session> session,
                std::function<Result<double>()> once)
      : lowered_(lowered), parts_(std::move(parts)), session_(std::move(session)), once_(std::move(once)) {}

  Result<double> runOnceMs() override { return once_(); }

  // Without a binding the runtime copies them to the host itself.
  Result<Tensors> outputs() override {
    if (!parts_.measures.cudaGraph) return session_->run(parts_.inputs, {});
    return fail(ErrorCode::Unsupported, "the outputs of a CUDA graph of ONNX Runtime are not copied from the GPU");
  }

  Result<int64_t> peakBytes() override {
    if (parts_.settings.device == Device::Cuda) {
      return fail(ErrorCode::Unsupported, "ONNX Runtime does not report how much memory it takes on the GPU");
    }
    ASSIGN_OR_RETURN(auto memory, CountedMemory::make());
    SessionMeasures measures = parts_.measures;
    measures.memory = memory.get();
    return withSession(measures, [&](Session&, const auto& once) -> Result<int64_t> {
      RETURN_IF_ERROR(once());  // Everything that is made once is made now.
      memory->restart();
      const int64_t before = memory->held();
      RETURN_IF_ERROR(once());
      return memory->most() - before;
    });
  }

  Result<std::vector<OpTime>> opTimes(const Task& task) override {
    SessionMeasures measures = parts_.measures;
    measures.profile = profilePrefix();
    measures.cudaGraph = false;  // A graph's kernels belong to no node.
    return withSession(measures, [&](Session& session, const auto& once) -> Result<std::vector<OpTime>> {
      for (int pass = 0; pass <= kInstrumentedPasses; ++pass) {
        RETURN_IF_ERROR(task.check());
        RETURN_IF_ERROR(once());
      }
      ASSIGN_OR_RETURN(const auto file, session.endProfile());
      const auto clock = parts_.settings.device == Device::Cuda ? ProfileClock::Kernels : ProfileClock::Nodes;
      auto ops =
          readProfile(file, kInstrumentedPasses, clock, [&](const std::string& name) { return nodeNamed(name); });
      std::error_code ignored;
      std::filesystem::remove(file, ignored);
      return ops;
    });
  }

  std::string clock() const override { return parts_.measures.cudaGraph ? "wall clock, CUDA graph" : "wall clock"; }
  std::string runtime() const override { return "ONNX Runtime " + runtimeVersion().value_or(""); }
  int threads() const override { return parts_.measures.threads; }

 private:
  template <class Use>
  auto withSession(const SessionMeasures& measures, const Use& use)
      -> decltype(use(std::declval<Session&>(), std::declval<std::function<Result<double>()>>())) {
    const auto session =
        Session::open(parts_.source, {.optimised = true, .taps = {}, .onlyForShape = {}, .measures = measures});
    if (!session) return tl::unexpected(session.error());
    ASSIGN_OR_RETURN(const auto once, (*session)->prepare(parts_.inputs));
    return use(**session, once);
  }

  // By nameNodesByOutputs(); nodes in bodies by the names that they have.
  graph::NodeId nodeNamed(const std::string& name) {
    if (nodes_.empty()) {
      const graph::Graph& graph = lowered_.graph;
      for (size_t i = 0; i < graph.values.size(); ++i) {
        if (graph.values[i].producer != graph::kNone) nodes_.emplace(lowered_.valuePath[i], graph.values[i].producer);
      }
      for (size_t i = 0; i < graph.nodes.size(); ++i)
        nodes_.emplace(graph.nodes[i].name, static_cast<graph::NodeId>(i));
    }
    const auto found = nodes_.find(name);
    return found == nodes_.end() ? graph::kNone : found->second;
  }

  const Lowered& lowered_;
  Parts parts_;
  std::shared_ptr<Session> session_;
  std::function<Result<double>()> once_;
  std::unordered_map<std::string, graph::NodeId> nodes_;  // by name; filled on first use
};

}  // namespace

Result<std::unique_ptr<Runner>> makeRunner(const OnnxSource& source, const Lowered& lowered, bool inType,
                                           const Tensors& inputs, const RunSettings& settings) {
  RETURN_IF_ERROR(runtimeVersion());
  if (settings.device == Device::Cuda && !runtimeHasCuda()) {
    return fail(ErrorCode::Unsupported, "this ONNX Runtime has no CUDA execution provider",
                "measure on the CPU, or name the folder of one that has it in NORMLENS_ONNXRUNTIME");
  }
  SessionRunner::Parts parts{source, inputs, settings, {}};
  parts.measures.device = settings.device;
  parts.measures.gpu = settings.gpu;
  parts.measures.threads = settings.threads > 0 ? settings.threads : physicalCores();
  if (inType) {
    parts.source.float64Twin = false;  // A twin's kernels are our own, made to be right and not fast.
    parts.measures.ownKernels = false;
  }
  const auto open = [&](bool graph) {
    SessionMeasures measures = parts.measures;
    measures.cudaGraph = graph;
    return Session::open(parts.source, {.optimised = true, .taps = {}, .onlyForShape = {}, .measures = measures});
  };
  std::shared_ptr<Session> plain;
  if (settings.cudaGraph) {
    ASSIGN_OR_RETURN(auto opened, open(false));
    plain = std::move(opened);
    parts.measures.cudaGraph = true;
  }
  ASSIGN_OR_RETURN(auto session, open(settings.cudaGraph));
  ASSIGN_OR_RETURN(auto once, session->prepare(inputs, plain.get()));
  return std::make_unique<SessionRunner>(lowered, std::move(parts), std::move(session), std::move(once));
}

}  // namespace normlens::formats::onnx
