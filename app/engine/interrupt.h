// SIGTERM as a stop token, in the process that works: who started it turns Ctrl-C into that (supervise_verb.h).
//
// The first one requests the work to stop, a second one ends the process. Made before any other thread starts: it
// blocks the signal for the process and waits for it on a thread of its own.
#pragma once

#include <csignal>
#include <functional>
#include <mutex>
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
  // Half a second after the request the work may still go on (a single op can take minutes): the process then ends with
  // what this returns, which is called on the watching thread. For work that has something to save.
  void ifItGoesOn(std::function<int()> leave);

 private:
  void watch(const std::stop_token& ended);

  std::stop_source stop_;
  sigset_t signals_;
  std::mutex mutex_;  // guards leave_
  std::function<int()> leave_;
  std::jthread watcher_;
};

}  // namespace normlens::engine
