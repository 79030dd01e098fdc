#include "app/engine/interrupt.h"

#include <chrono>
#include <ctime>
#include <optional>

#include "core/base/run_watch.h"

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

}  // namespace normlens::engine
