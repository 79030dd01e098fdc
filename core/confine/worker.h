// A child process with walls around it, in which a stranger's model is loaded and run; held by who started it.
//
//   auto worker = Worker::start(start, [&](Confinement level) { ...open, run, write through files.h...; return 0; });
//   poll worker->door(), worker->noise(); worker->serveDoor(); worker->readNoise(); worker->overdue(); worker->ended();
// The child is a fork, not a new program: libraries that are loaded are there at once. It ends with its starter, stops
// on SIGTERM, and may be killed at any moment: nothing of it is left but what it named through the door.
// Thread: start() while the process has one thread; the rest by the thread that started it.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/run_watch.h"
#include "core/confine/doorkeeper.h"
#include "core/confine/walls.h"

namespace normlens::confine {

// Makes what a model or its runtime prints fit for a terminal and a log: lines without control characters, so that
// nothing in them can move the cursor, and not more of them than anybody would read.
class Noise {
 public:
  static constexpr size_t kMostBytes = size_t{64} << 10;
  static constexpr size_t kLongestLine = 1000;

  explicit Noise(std::function<void(std::string_view line)> sink) : sink_(std::move(sink)) {}
  void feed(std::string_view bytes);
  void end();  // passes on what no newline has ended

 private:
  void report();

  std::function<void(std::string_view line)> sink_;
  std::string line_;
  size_t printed_ = 0;
  bool full_ = false;
};

// The limits of what is run; zero: none.
struct Limits {
  std::chrono::milliseconds run{std::chrono::minutes(10)};
  std::chrono::milliseconds probe{std::chrono::seconds(60)};  // for the shapes
  std::chrono::milliseconds trial{std::chrono::seconds(20)};  // on inputs that are guessed
  int64_t memoryBytes = 0;                                    // zero: nine tenths of what the machine has now

  // Sets the limit that a person wants: nothing takes longer.
  void setTime(std::chrono::milliseconds most) {
    run = probe = most;
    trial = std::min(trial, most);
  }
};

class Worker {
 public:
  // The child's status is what it returns; `body` gets the level that is in force.
  using Body = std::function<int(Confinement level)>;
  struct Start {
    Walls walls;
    Limits limits;
    Grants grants;
    std::vector<int> keep;  // descriptors that the child goes on using; all others are closed
    std::function<void(std::string_view line)> printed;  // by the model or its runtime
  };
  [[nodiscard]] static Result<std::unique_ptr<Worker>> start(Start start, const Body& body);
  ~Worker();  // kills it
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int door() const { return door_.get(); }        // readable: call serveDoor()
  [[nodiscard]] int noise() const { return noisePipe_.get(); }  // readable: call readNoise()
  [[nodiscard]] Grants& grants() { return keeper_->grants(); }
  [[nodiscard]] Doorkeeper& keeper() { return *keeper_; }
  [[nodiscard]] const WatchPage& page() const { return *page_; }
  void setLimits(const Limits& limits);  // Sets the memory's, where it is less than before.
  void serveDoor();
  bool readNoise();  // false: there was nothing

  void askToStop() const;
  // The reason of a kill is part of the report of its end.
  enum class Reason : uint8_t { None, Deadline, Stopped, BrokeOff };
  void kill(Reason reason);
  // Returns whether a run has taken longer than it may, with the while beyond that it had to stop by itself.
  [[nodiscard]] bool overdue() const;

  struct End {
    int status = 0;           // that it returned
    bool byItself = false;    // it returned; else:
    RunWatch::Kind during{};  // The step that it was at.
    Error error;              // one sentence of "it", the model or its file: "it crashed while it was run (at ...)"
  };
  // nullopt: it lives, or its end was returned before.
  [[nodiscard]] std::optional<End> ended();

 private:
  Worker() = default;
  [[nodiscard]] Error describe(int signal) const;

  pid_t pid_ = -1;
  bool reaped_ = false;
  Reason reason_ = Reason::None;
  Descriptor door_, noisePipe_;
  std::shared_ptr<WatchPage> page_;  // both processes see it
  std::filesystem::path scratch_;
  Descriptor scratchLock_;  // one that nobody holds is taken away by the next worker's start
  std::unique_ptr<Noise> noise_;
  std::optional<Doorkeeper> keeper_;  // Set for a worker that was started.
};

}  // namespace normlens::confine
