// The runner of a model records here, for the process that watches over it: what is run, and until when it may.
//
//   const RunWatch watch(RunWatch::Kind::Trial);   // for the time of a run
//   RunWatch::at("aten::matmul", "layer.0");       // now and then, so that a crash can be reported with its op
//   if (watch.expired()) ...                       // where the run can look for itself
// The page lies in memory that both processes see. A process that nobody watches has a page of its own, without limits.
// A watcher waits a while longer than the limit: what can stop by itself stops with a better sentence.
// Thread: any; runs of several threads may overlap, the last one to begin sets the time. Within another of its thread a
// watch is that other one.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace normlens {

struct WatchPage {
  std::atomic<int64_t> deadlineNs{0};  // Reads the steady clock; 0: nothing runs, or it may take as long as it likes.
  std::atomic<int64_t> runLimitMs{0};  // 0: none
  std::atomic<int64_t> probeLimitMs{0};
  std::atomic<int64_t> trialLimitMs{0};
  std::atomic<uint32_t> kind{0};    // RunWatch::Kind of the last run to begin
  std::atomic<uint32_t> runs{0};    // that have begun and not ended
  std::atomic<uint32_t> ready{0};   // it is what it is to be and hears its client (app/engine/serve/serve_side.h)
  std::atomic<int32_t> status{-1};  // Its exit status, once its last words are written; whoever ends it then adds none.
  std::array<char, 160> at{};       // the op; may be torn, and ends with a zero all the same
};

class RunWatch {
 public:
  enum class Kind : uint8_t {
    None,
    Load,   // reading a file: TorchScript may run code then
    Trial,  // on guessed inputs, to find some that go through
    Probe,  // for the shapes
    Run,
  };
  explicit RunWatch(Kind kind);
  ~RunWatch();
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;

  [[nodiscard]] bool expired() const;
  // Returns "it did not end within 20 s", for who found it expired.
  [[nodiscard]] std::string tooLong() const;

  static void at(std::string_view op, std::string_view where);

 private:
  const RunWatch* outer_;  // This thread's, which then represents this one too.
  int64_t limitMs_ = 0;
  int64_t deadlineNs_ = 0;
};

[[nodiscard]] int64_t limitMsOf(const WatchPage& page, RunWatch::Kind kind);
[[nodiscard]] std::string inSeconds(int64_t ms);  // "20 s", rounded up

// Call it before there are other threads; the page outlives the process.
void useWatchPage(WatchPage* page);
[[nodiscard]] WatchPage& watchPage();

// Ends this process with a result. A process that ends otherwise had a library or a model in it that called exit.
[[noreturn]] void endWithStatus(int status);

}  // namespace normlens
