// The signals that a process which watches over others waits for, as a descriptor to poll. Blocked while it lives, and
// from holdBack() on: one that comes before is heard then.
#pragma once

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "core/base/descriptor.h"

namespace normlens::engine {

class StopSignals {
 public:
  // Whoever starts a program may have it ignore SIGCHLD: the kernel then reaps its children, and a number that is still
  // sent signals may be another process's.
  static void holdBack() {
    std::signal(SIGCHLD, SIG_DFL);
    const sigset_t signals = all();
    sigprocmask(SIG_BLOCK, &signals, nullptr);
  }
  // Unblocks them, for a process that watches over nobody.
  static void letThrough() {
    const sigset_t signals = all();
    sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  }

  StopSignals() {
    const sigset_t signals = all();
    sigprocmask(SIG_BLOCK, &signals, &before_);
    descriptor_.reset(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~StopSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  // SIGINT, SIGTERM or SIGHUP; nullopt: none has come. The end of a child shows in its wait status, not here.
  [[nodiscard]] std::optional<int> next() {
    signalfd_siginfo info{};
    while (::read(descriptor_.get(), &info, sizeof info) == sizeof info) {
      if (info.ssi_signo != SIGCHLD) return static_cast<int>(info.ssi_signo);
    }
    return std::nullopt;
  }

 private:
  static sigset_t all() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&signals, signal);
    return signals;
  }

  sigset_t before_{};
  Descriptor descriptor_;
};

}  // namespace normlens::engine
