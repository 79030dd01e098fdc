// The SHA-256 of the opened file, found beside other work: reading a large file again takes as long as folding it.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "core/formats/model.h"

namespace normlens::service {

// Thread: one caller; the hashing has a thread of its own, which the destructor ends.
class SourceHash {
 public:
  explicit SourceHash(const formats::Model& model) : model_(model) {}  // which outlives this object
  ~SourceHash() {
    worker_.request_stop();
    setResting(false);
  }
  SourceHash(const SourceHash&) = delete;
  SourceHash& operator=(const SourceHash&) = delete;

  // Starts where it has not been started.
  void start() {
    if (worker_.joinable() || !sha256_.empty()) return;
    worker_ = std::jthread([this](const std::stop_token& stop) {
      sha256_ = model_.fileSha256([&] {
        resting_.wait(true);
        return !stop.stop_requested();
      });
    });
  }
  // While one of these lives the hashing rests, for work that the memory's speed bounds.
  class Rest {
   public:
    explicit Rest(SourceHash& hash) : hash_(hash) { hash_.setResting(true); }
    ~Rest() { hash_.setResting(false); }
    Rest(const Rest&) = delete;
    Rest& operator=(const Rest&) = delete;

   private:
    SourceHash& hash_;
  };
  // Waits for it. Empty when a file cannot be read any more.
  [[nodiscard]] const std::string& get() {
    start();
    if (worker_.joinable()) worker_.join();
    return sha256_;
  }

 private:
  void setResting(bool resting) {
    resting_ = resting;
    resting_.notify_all();
  }

  const formats::Model& model_;
  std::atomic<bool> resting_ = false;
  std::string sha256_;
  std::jthread worker_;
};

}  // namespace normlens::service
