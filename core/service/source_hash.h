// The SHA-256 of the opened file, found beside other work: reading a large file again takes as long as folding it.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "core/formats/model.h"

namespace normlens::service {

// Thread: one caller; the hashing has a thread of its own, which the destructor ends.
class SourceHash {
 public:
  explicit SourceHash(const formats::Model& model) : model_(model) {}  // which outlives this object
  ~SourceHash();
  SourceHash(const SourceHash&) = delete;
  SourceHash& operator=(const SourceHash&) = delete;

  // Starts where it has not been started.
  void start();
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
  [[nodiscard]] const std::string& get();

 private:
  void setResting(bool resting);
  bool mayGoOn();  // waits while it rests

  const formats::Model& model_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool resting_ = false;
  bool ended_ = false;
  std::string sha256_;
  std::thread worker_;
};

}  // namespace normlens::service
