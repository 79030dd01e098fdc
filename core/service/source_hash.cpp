#include "core/service/source_hash.h"

namespace normlens::service {

SourceHash::~SourceHash() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  if (worker_.joinable()) worker_.join();
}

void SourceHash::start() {
  if (worker_.joinable() || !sha256_.empty()) return;
  worker_ = std::thread([this] { sha256_ = model_.fileSha256([this] { return mayGoOn(); }); });
}

const std::string& SourceHash::get() {
  start();
  if (worker_.joinable()) worker_.join();
  return sha256_;
}

void SourceHash::setResting(bool resting) {
  {
    const std::lock_guard lock(mutex_);
    resting_ = resting;
  }
  changed_.notify_all();
}

bool SourceHash::mayGoOn() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ || !resting_; });
  return !ended_;
}

}  // namespace normlens::service
