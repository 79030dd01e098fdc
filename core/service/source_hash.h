// The SHA-256 of the opened file, found beside other work: reading a large file again takes as long as folding it.
#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/formats/model.h"

namespace normlens::service {

// Thread: one caller; the hashing has a thread of its own, which the destructor ends.
class SourceHash {
 public:
  static constexpr size_t kHexDigits = 64;

  explicit SourceHash(const formats::Model& model) : model_(model) {}  // which outlives this object
  ~SourceHash() {
    worker_.request_stop();
    setResting(false);
  }
  SourceHash(const SourceHash&) = delete;
  SourceHash& operator=(const SourceHash&) = delete;

  // Starts the hashing where it has not been started.
  void start() {
    if (worker_.joinable()) return;
    worker_ = std::jthread([this](const std::stop_token& stop) {
      found_.set_value(model_.fileSha256([&] {
        resting_.wait(true);
        return !stop.stop_requested();
      }));
    });
  }
  // The hashing rests while one of these lives, for work that the memory's speed bounds.
  class Rest {
   public:
    explicit Rest(SourceHash& hash) : hash_(hash) { hash_.setResting(true); }
    ~Rest() { hash_.setResting(false); }
    Rest(const Rest&) = delete;
    Rest& operator=(const Rest&) = delete;

   private:
    SourceHash& hash_;
  };
  // Waits for it. Errors: Unreadable when a file cannot be read any more; Cancelled.
  [[nodiscard]] Result<std::string> get(const Task& task = {}) {
    start();
    while (sha256_.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
      if (auto status = task.check(); !status) return tl::unexpected(std::move(status.error()));
    }
    if (!sha256_.get().empty()) return sha256_.get();
    return fail(ErrorCode::Unreadable, model_.facts().path.string() + " cannot be read any more");
  }

 private:
  void setResting(bool resting) {
    resting_ = resting;
    resting_.notify_all();
  }

  const formats::Model& model_;
  std::atomic<bool> resting_ = false;
  std::promise<std::string> found_;
  std::shared_future<std::string> sha256_ = found_.get_future();
  std::jthread worker_;
};

}  // namespace normlens::service
