#include "app/engine/interrupt.h"

#include <unistd.h>

#include <ctime>

namespace normlens::engine {

Interrupt::Interrupt() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  watcher_ = std::jthread([this](const std::stop_token& ended) {
    while (!ended.stop_requested()) {
      constexpr timespec kTick{.tv_sec = 0, .tv_nsec = 100'000'000};
      const int signal = sigtimedwait(&signals_, nullptr, &kTick);
      if (signal < 0) continue;
      if (stop_.stop_requested()) _exit(128 + signal);
      stop_.request_stop();
    }
  });
}

Interrupt::~Interrupt() = default;

}  // namespace normlens::engine
