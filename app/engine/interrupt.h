// Ctrl-C as a stop token: the first SIGINT or SIGTERM asks the work to stop, a second one ends the process.
//
// Made before any other thread starts: it blocks both signals for the process and waits for them on a thread of its
// own.
#pragma once

#include <csignal>
#include <stop_token>
#include <thread>

namespace normlens::engine {

class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

 private:
  std::stop_source stop_;
  sigset_t signals_;
  std::jthread watcher_;
};

}  // namespace normlens::engine
