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
  static constexpr std::array kVerbs = {
      Verb{"analyze", "Which LayerNorms can become RMSNorms, and why or why not", declareAnalyze},
      Verb{"fold", "Replace LayerNorms by RMSNorms, prove it and write the new model", declareFold},
      Verb{"fuse", "Fuse each norm and the residual add before it into one node, without folding", declareFuse},
      Verb{"crms", "Fold, and remove one channel from each residual stream that only norms read", declareCrms},
      Verb{"diff", "Compare the outputs and the norms of two models on the same inputs", declareDiff},
      Verb{"verify", "Judge whether a model is a right fold of another, whoever made it", declareVerify},
      Verb{"probe", "Directions of the norms' inputs, and whether an RMSNorm could replace each norm", declareProbe},
      Verb{"bench", "Measure the latency of a model, or of two side by side", declareBench},
      Verb{"report", "Write a page about a fold: verdicts, plan, proof, differences, latency", declareReport},
      Verb{"lab", "Train networks with LayerNorm, RMSNorm and centered weights side by side", declareLab, false},
      Verb{"check", "Run every stage on a model and time each, for bug reports", declareCheck},
      Verb{"serve", "Answer the window's requests on stdin and stdout", declareServe},
      Verb{"doctor", "What this installation has and what it lacks", declareDoctor, false},
  };
  return kVerbs;
}

}  // namespace normlens::engine
