#include "app/engine/verbs.h"

#include "core/base/run_watch.h"

#include <array>
#include <chrono>
#include <ctime>
#include <optional>

namespace normlens::engine {
namespace {

constexpr timespec kTick{.tv_sec = 0, .tv_nsec = 50'000'000};
constexpr std::chrono::milliseconds kPatience{500};

}  // namespace

Interrupt::Interrupt() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  watcher_ = std::jthread([this](const std::stop_token& ended) { watch(ended); });
}

Interrupt::~Interrupt() = default;

void Interrupt::ifItGoesOn(std::function<int()> leave) {
  const std::lock_guard lock(mutex_);
  leave_ = std::move(leave);
}

void Interrupt::watch(const std::stop_token& ended) {
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> asked;
  while (!ended.stop_requested()) {
    const int signal = sigtimedwait(&signals_, nullptr, &kTick);
    if (signal >= 0 && asked) endWithStatus(128 + signal);
    if (signal >= 0) {
      asked = Clock::now();
      stop_.request_stop();
    }
    if (!asked || Clock::now() - *asked < kPatience) continue;
    const std::lock_guard lock(mutex_);
    if (leave_ && !ended.stop_requested()) endWithStatus(leave_());
  }
}

std::span<const Verb> verbs() {
  constexpr std::string_view kLook = "Look at a model", kChange = "Write a new model", kCompare = "Compare and measure",
                             kProgram = "This program";
  static constexpr std::array kVerbs = {
      Verb{"analyze", kLook, "Which LayerNorms can become RMSNorms, and why or why not", "normlens analyze model.onnx",
           declareAnalyze},
      Verb{"probe", kLook, "Directions of the norms' inputs, and whether an RMSNorm could replace each norm",
           "normlens probe model.pt --inputs batches.npz", declareProbe},
      Verb{"report", kLook, "Write a page about a fold: verdicts, plan, proof, differences, latency",
           "normlens report model.pt -o report.html --bench", declareReport},
      Verb{"fold", kChange, "Replace LayerNorms by RMSNorms, prove it and write the new model",
           "normlens fold model.onnx -o folded.onnx --for tensorrt", declareFold},
      Verb{"fuse", kChange, "Fuse each norm and the residual add before it into one node, without folding",
           "normlens fuse model.pt -o fused.pt", declareFuse},
      Verb{"crms", kChange, "Fold, and remove one channel from each residual stream that only norms read",
           "normlens crms model.pt -o narrow.pt", declareCrms},
      Verb{"diff", kCompare, "Compare the outputs and the norms of two models on the same inputs",
           "normlens diff model.pt folded.pt --dtype float64,float32", declareDiff},
      Verb{"verify", kCompare, "Judge whether a model is a right fold of another, whoever made it",
           "normlens verify model.onnx by_another_tool.onnx", declareVerify},
      Verb{"bench", kCompare, "Measure the latency of a model, or of two side by side",
           "normlens bench model.pt folded.pt --sweep seq=64,256", declareBench},
      Verb{"lab", kCompare, "Train networks with LayerNorm, RMSNorm and centered weights side by side",
           "normlens lab run.json -o runs", declareLab, false},
      Verb{"doctor", kProgram, "What this installation has and what it lacks", "normlens doctor --gpu", declareDoctor,
           false},
      Verb{"check", kProgram, "Run every stage on a model and time each, for bug reports", "normlens check model.pt",
           declareCheck},
      Verb{"serve", kProgram, "Answer the window's requests on stdin and stdout", "normlens serve", declareServe},
  };
  return kVerbs;
}

}  // namespace normlens::engine
