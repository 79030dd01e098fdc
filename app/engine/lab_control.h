// Holds the run of the laboratory that goes on, and passes the window's control messages to it.
#pragma once

#include <mutex>
#include <optional>
#include <stop_token>

#include "core/lab/train.h"
#include "core/protocol/dispatcher.h"
#include "core/protocol/lab_messages.h"

namespace normlens::engine {

// Thread: train() on the thread of requests, hear() on any.
class LabDesk {
 public:
  [[nodiscard]] Result<lab::RunResult> train(const protocol::LabParams& params, const Task& task, int64_t id,
                                             const protocol::Dispatcher::Notify& notify);
  void hear(const protocol::LabControl& control);  // without a run: nothing

 private:
  struct Running {
    std::stop_source stop;
    lab::PauseSwitch pause;
  };
  std::mutex mutex_;
  std::optional<Running> running_;  // in the middle of train()
};

}  // namespace normlens::engine
