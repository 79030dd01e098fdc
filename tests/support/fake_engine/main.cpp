// normlens-fake-engine serve [mischief]: speaks the protocol, knows no torch. See mischief.h.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "app/engine/serve/exchanged_files.h"
#include "core/protocol/bench_messages.h"
#include "core/protocol/dispatcher.h"
#include "tests/support/fake_engine/canned_lab.h"
#include "tests/support/fake_engine/canned_replies.h"
#include "tests/support/fake_engine/mischief.h"

namespace normlens::fake {

namespace {

namespace methods = protocol::methods;

protocol::Transport standardStreams() {
  protocol::Transport transport;
  transport.read = [] {
    char buffer[65536];
    const ssize_t count = ::read(STDIN_FILENO, buffer, sizeof buffer);
    return count > 0 ? std::string(buffer, static_cast<size_t>(count)) : std::string();
  };
  transport.write = [](std::string_view body, const protocol::Answered* /*answers*/) {
    const std::string frame = protocol::encodeFrame(body);
    std::fwrite(frame.data(), 1, frame.size(), stdout);
    std::fflush(stdout);
  };
  transport.log = [](std::string_view line) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
  };
  return transport;
}

class Engine {
 public:
  explicit Engine(Mischief mischief) : mischief_(std::move(mischief)), dispatcher_(standardStreams()) {
    bind(methods::kInitialize, [this](const auto&) {
      protocol::EngineInfo info;
      info.version = "0.1.0 (fake)";
      info.torch = "none";
      info.formats = {"torchscript"};
      info.device = mischief_.gpu.empty() ? "CPU" : mischief_.gpu;
      if (mischief_.gpu.empty()) info.no_gpu = "No NVIDIA driver was found.";
      info.pid = getpid();
      info.memory_bytes = 41 << 20;
      return info;
    });
    bind(methods::kCheckGpu, [](const auto&) {
      return protocol::GpuCheck{{{"driver", 3.2, {}, {}}, {"start", 210, "cuInit returned 304", "see nvidia-smi"}}};
    });
    bind(methods::kOpen, [this](const auto& p) { return open(p); });
    bindNeedingModel(methods::kReadGraph, [this](const auto& p) { return readGraph(p); });
    bindNeedingModel(methods::kWeightDigests, [this](const auto& p) { return weightDigests(p); });
    bindNeedingModel(methods::kWeightChanges, [](const auto& p) { return weightChanges(p); });
    bindAnalyze();
    bindNeedingModel(methods::kZeroMeanGraph, [this](const auto& p) { return zeroMeanGraph(*model_, p.norm); });
    bindNeedingModel(methods::kPlan, [this](const auto& p) { return plan(*model_, p, runs_ && !hidden_); });
    bindNeedingModel(methods::kNormPrices, [this](const auto& p) {
      if (p.device == "cuda") return protocol::NormPrices{rows(), 64, 0.9, 0.5, 0.3, 0.3, 0.5, 0.2, 0.4};
      return protocol::NormPrices{rows(), 64, 3.4, 2.1, 1.6, 1.2, 1.4, 1.5, 1.7};
    });
    bindNeedingModel(methods::kForcedError, [this](const auto& p) { return forcedError(*model_, p); });
    bindNeedingModel(methods::kProbe, [this](const auto& p) { return probe(*model_, p); });
    bindNeedingModel(methods::kProbeSwaps, [this](const auto& p) { return probeSwaps(*model_, p); });
    bindNeedingModel(methods::kReport, [](const auto& p) { return report(p); });
    bindNeedingModel(methods::kStreams, [this](const auto& p) { return streams(*model_, p); });
    bindNeedingModel(methods::kNarrow, [this](const auto& p) { return narrow(*model_, p); });
    bindNeedingModel(methods::kPreviewCenter, [this](const auto& p) { return preview(*model_, p.value); });
    bindNeedingModel(methods::kFold, [this](const auto& p) {
      folded_ = p.plan;
      auto result = foldResult(*model_, p);
      if (!p.verify) result.verify.reset();
      return result;
    });
    bindNeedingModel(methods::kSourceHash, [this](const auto&) { return protocol::SourceHash{sourceHash()}; });
    bindNeedingModel(methods::kZeroMeanMap, [this](const auto& p) { return zeroMeanMap(*model_, p); });
    bindNeedingModel(methods::kShiftCone, [this](const auto& p) { return shiftCone(*model_, p.node); });
    bindBench();
    bindLab();
    bindNeedingModel(methods::kDiff, [this](const auto& p) { return diffResult(*model_, p); });
    bindNeedingModel(methods::kTensorPair, [this](const auto& p) { return tensorPair(*model_, p); });
    bindNeedingModel(methods::kTensorStats, [this](const auto& p) { return tensorStats(*model_, p.value); });
    bindNeedingModel(methods::kSaveTensor, [](const auto& p) {
      std::ofstream(p.path) << "tensor " << p.value << "\n";
      return protocol::SavedTensor{p.path, static_cast<int64_t>(std::filesystem::file_size(p.path))};
    });
    bindNeedingModel(methods::kSetInputs, [this](const auto& p) { return setInputs(p); });
    bind(methods::kListFolder, [](const auto& p) { return engine::ExchangedFiles::list(p); });
    bind(methods::kSendChunk, [this](const auto& p) { return files_.send(p); });
    bind(methods::kFetchChunk, [this](const auto& p) { return files_.fetch(p); });
    bindNeedingModel(methods::kTargets, [](const auto&) { return targets(); });
    bindNeedingModel(methods::kExport, [](const auto& p) {
      std::ofstream(p.path) << "folded with " << p.norm << (p.target.empty() ? "" : " for " + p.target) << "\n";
      return protocol::ExportResult{p.path, static_cast<int64_t>(std::filesystem::file_size(p.path)), 0.7,
                                    p.target == "coreml" ? std::vector<protocol::Overflow>{{"h.3.ln_1", 97344}}
                                                         : std::vector<protocol::Overflow>()};
    });
  }

  void serve() { dispatcher_.serve(); }

 private:
  template <class Params, class Reply, class Function>
  void bind(const protocol::Method<Params, Reply>& method, Function function) {
    const std::string name(method.name);
    if (mischief_.talksNonsense(name)) {
      // Right envelope, wrong fields: what an engine of another version might send.
      dispatcher_.bind(protocol::Method<Params, protocol::FoldParams>{method.name},
                       [](const Params&, const Task&) { return Result<protocol::FoldParams>(protocol::FoldParams{}); });
      return;
    }
    dispatcher_.bind(method, [this, name, function](const Params& params, const Task& task) -> Result<Reply> {
      if (auto status = mischief_.before(name, task); !status) return tl::unexpected<Error>(status.error());
      return function(params);
    });
  }

  void bindAnalyze() {
    const std::string name(methods::kAnalyze.name);
    dispatcher_.bind(
        methods::kAnalyze,
        [this, name](const protocol::AnalyzeParams& params, const Task& task) -> Result<protocol::Analysis> {
          if (auto status = mischief_.before(name, task); !status) return tl::unexpected(status.error());
          if (!model_) return fail(ErrorCode::Usage, "No model is open.");
          auto told = analysis(*model_);
          if (hidden_) hideShapes(told);
          if (!inputs_.empty()) told.inputs = inputs_;
          told.unused_arrays = unusedArrays_;
          told.early = params.early && mischief_.early > 0;
          if (params.early || mischief_.early == 0) return told;
          if (auto status = mischief_.confirming(task); !status) return tl::unexpected(status.error());
          told.values.clear();
          if (mischief_.surprise >= 0)
            told.norms.at(static_cast<size_t>(mischief_.surprise)).verdict = Verdict::Blocked;
          return told;
        });
  }

  // Rounds come one after another, so that a window has something to follow and to stop.
  void bindBench() {
    const std::string name(methods::kBench.name);
    dispatcher_.bind(methods::kBench,
                     [this, name](const protocol::BenchParams& params, const Task& task, int64_t id,
                                  const protocol::Dispatcher::Notify& notify) -> Result<protocol::BenchResult> {
                       if (auto status = mischief_.before(name, task); !status)
                         return tl::unexpected<Error>(status.error());
                       if (!model_) return fail(ErrorCode::Usage, "No model is open.");
                       const auto tell = [&](protocol::BenchUpdate update) {
                         update.id = id;
                         notify(methods::kBenchUpdate, protocol::toJson(update));
                       };
                       auto result = measure(params, tell, [&] {
                         std::this_thread::sleep_for(mischief_.roundPause);
                         return task.cancelled();
                       });
                       if (result) addNodeTimes(*result);
                       return result;
                     });
  }

  // A norm takes 50 µs and half of that when folded, every other node 10 µs; the last node was merged into another.
  void addNodeTimes(protocol::BenchResult& result) const {
    for (protocol::BenchPoint& point : result.points) {
      for (const protocol::GraphNode& node : model_->graph.nodes) {
        if (node.id == model_->graph.nodes.back().id) continue;
        const bool norm = std::ranges::find(model_->normNodes, node.id) != model_->normNodes.end();
        point.a.node_ms.emplace_back(node.id, norm ? 0.05 : 0.01);
        if (point.b) point.b->node_ms.emplace_back(node.id, norm ? 0.025 : 0.01);
      }
    }
  }

  void bindLab() {
    const std::string name(methods::kLab.name);
    dispatcher_.bind(methods::kLab,
                     [this, name](const protocol::LabParams& params, const Task& task, int64_t id,
                                  const protocol::Dispatcher::Notify& notify) -> Result<lab::RunResult> {
                       if (auto status = mischief_.before(name, task); !status)
                         return tl::unexpected<Error>(status.error());
                       return lab_.run(params, task, id, notify, mischief_.roundPause);
                     });
    dispatcher_.hear<protocol::LabControl>(methods::kLabControl,
                                           [this](const protocol::LabControl& control) { lab_.hear(control); });
  }

  template <class Params, class Reply, class Function>
  void bindNeedingModel(const protocol::Method<Params, Reply>& method, Function function) {
    bind(method, [this, function](const Params& params) -> Result<Reply> {
      if (!model_) return fail(ErrorCode::Usage, "No model is open.");
      return function(params);
    });
  }

  // Hashes the file's contents.
  [[nodiscard]] std::string sourceHash() const {
    std::ifstream file(path_, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    return std::to_string(std::hash<std::string>()(content));
  }

  Result<protocol::ModelInfo> open(const protocol::OpenParams& params) {
    if (!std::filesystem::exists(params.path)) {
      return fail(ErrorCode::Unreadable, "There is no file " + params.path + ".", "Check the path.");
    }
    path_ = params.path;
    if (params.path.find("several") != std::string::npos) return openOneOfTwo(params);
    inputs_.clear();
    const bool postNorm = params.path.find("bert") != std::string::npos;
    model_ = makeTransformer(mischief_.blocks, postNorm);
    model_->longNames = params.path.find("whisper") != std::string::npos;
    protocol::ModelInfo info = modelInfo(*model_, params.path);
    info.modified = std::filesystem::last_write_time(params.path).time_since_epoch().count();
    runs_ = params.path.find("opaque") == std::string::npos;
    hidden_ = params.path.find("hidden") != std::string::npos;
    if (!runs_) info.cannot_run = "This engine does not run mylib::mix.";
    return info;
  }

  Result<protocol::ModelInfo> openOneOfTwo(const protocol::OpenParams& params) {
    const bool encodes = params.model == "encode";
    if (!encodes && !params.model.empty() && params.model != "decode") {
      return fail(ErrorCode::Usage, params.path + " holds no model '" + params.model + "' but decode, encode");
    }
    inputs_.clear();
    model_ = makeTransformer(mischief_.blocks, encodes);
    protocol::ModelInfo info = modelInfo(*model_, params.path);
    info.models = {"decode", "encode"};
    info.model = info.models[encodes ? 1 : 0];
    info.modified = 3;  // of the file
    info.note = "The archive holds several models; this is '" + info.model + "'.";
    return info;
  }

  [[nodiscard]] Result<protocol::ModelInfo> readGraph(const protocol::ReadGraphParams& params) const {
    if (params.path.empty()) return foldedInfo(*model_, folded_);
    if (params.path.find("broken") != std::string::npos) {
      return fail(ErrorCode::Unreadable, params.path + " is not a model.");
    }
    return modelInfo(*model_, params.path);
  }

  // The first two weights of a folded model are other ones.
  [[nodiscard]] Result<protocol::WeightDigests> weightDigests(const protocol::WeightDigestsParams& params) const {
    const bool folded = params.other && params.path.empty();
    protocol::WeightDigests told;
    for (const auto& value : (folded ? foldedInfo(*model_, folded_) : modelInfo(*model_, params.path)).graph.values) {
      if (!value.constant) continue;
      told.values.push_back(value.id);
      told.digests.push_back(folded && told.digests.size() < 2 ? value.name + " folded" : value.name);
    }
    return told;
  }

  // As many as tokens are put in, though the canned tensors keep their shapes.
  [[nodiscard]] int64_t rows() const {
    return inputs_.empty() || inputs_.front().shape.size() < 2 ? 16 : inputs_.front().shape[1];
  }

  Result<protocol::InputsInfo> setInputs(const protocol::InputsParams& params) {
    if (!params.npz.empty() && !std::filesystem::exists(params.npz)) {
      return fail(ErrorCode::Unreadable, "there is no file " + params.npz);
    }
    const auto info = inputsInfo(params);
    inputs_ = info.inputs;
    unusedArrays_ = params.npz.empty() ? std::vector<std::string>() : std::vector<std::string>{"labels", "epoch"};
    return info;
  }

  Mischief mischief_;
  engine::ExchangedFiles files_;
  CannedLab lab_;  // before the dispatcher, whose thread calls it
  protocol::Dispatcher dispatcher_;
  std::string path_;  // of the model
  std::optional<CannedModel> model_;
  bool runs_ = true;                         // its operators are known
  bool hidden_ = false;                      // it was not run, so nothing is known of its norms
  protocol::PlanParams folded_;              // of the last fold
  std::vector<protocol::InputSpec> inputs_;  // set by the window; empty: guessed
  std::vector<std::string> unusedArrays_;    // of the file that the window named
};

}  // namespace

}  // namespace normlens::fake

int main(int argc, char** argv) {
  normlens::fake::Engine(normlens::fake::Mischief::fromArguments(argc, argv)).serve();
  return 0;
}
