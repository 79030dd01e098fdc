// The fake engine's laboratory: it trains nothing, and tells records whose curves look like those of training.
#pragma once

#include <mutex>
#include <stop_token>

#include "core/base/task.h"
#include "core/lab/train.h"
#include "core/protocol/dispatcher.h"

namespace normlens::fake {

// Thread: run() on the thread of requests, hear() on any.
class CannedLab {
 public:
  // pause: between two epochs.
  [[nodiscard]] Result<lab::RunResult> run(const protocol::LabParams& params, const Task& task, int64_t id,
                                           const protocol::Dispatcher::Notify& notify, std::chrono::milliseconds pause);
  void hear(const protocol::LabControl& control);

 private:
  std::mutex mutex_;
  std::stop_source stop_;
  lab::PauseSwitch pause_;
};

}  // namespace normlens::fake
