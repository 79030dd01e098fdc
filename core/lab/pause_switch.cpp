#include "core/lab/train.h"

namespace normlens::lab {

void PauseSwitch::pause() {
  const std::scoped_lock lock(mutex_);
  paused_ = true;
}

void PauseSwitch::goOn() {
  {
    const std::scoped_lock lock(mutex_);
    paused_ = false;
  }
  changed_.notify_all();
}

bool PauseSwitch::paused() const {
  const std::scoped_lock lock(mutex_);
  return paused_;
}

void PauseSwitch::wait(std::stop_token stop) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, std::move(stop), [&] { return !paused_; });
}

}  // namespace normlens::lab
