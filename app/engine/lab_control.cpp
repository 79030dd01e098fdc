#include "app/engine/lab_control.h"

namespace normlens::engine {

using namespace protocol;  // the messages

Result<lab::RunResult> LabDesk::train(const LabParams& params, const Task& task, int64_t id,
                                      const Dispatcher::Notify& notify) {
  {
    const std::scoped_lock lock(mutex_);
    running_.emplace();
  }
  const std::stop_callback cancelled(task.stop, [this] { hear({.what = "stop"}); });
  const lab::RunControl control{
      .onRecord =
          [&](const lab::RunRecord& record) {
            notify(methods::kLabUpdate, toJson(LabUpdate{id, record}));
          },
      .stop = running_->stop.get_token(),
      .pause = &running_->pause,
  };
  auto result = lab::train(params.settings, {.name = params.name, .folder = params.folder}, control);
  const std::scoped_lock lock(mutex_);
  running_.reset();
  return result;
}

void LabDesk::hear(const LabControl& control) {
  const std::scoped_lock lock(mutex_);
  if (!running_) return;
  if (control.what == "pause") running_->pause.pause();
  if (control.what == "continue") running_->pause.goOn();
  if (control.what == "stop") running_->stop.request_stop();
}

}  // namespace normlens::engine
