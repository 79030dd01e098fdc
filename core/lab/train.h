// Carries out a run of the laboratory. LibTorch is loaded when the first one begins.
//
//   RunControl control{.onRecord = [](const RunRecord& record) { ... }, .stop = token, .pause = &pause};
//   Result<RunResult> result = train(settings, {.name = "12", .folder = "runs/12"}, control);
//
// The folder keeps what was trained: "checkpoint" (after an epoch, at most every two seconds; at a pause and a stop),
// "result.json", and at the end each network as TorchScript and as a torch.export archive. Each is complete or not
// there, so a run that was killed goes on from its checkpoint; its numbers are then those of a run that was not.
// Thread: train() blocks, one run at a time; onRecord is called on its thread; PauseSwitch and the token from any.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/run_record.h"
#include "core/protocol/run_settings.h"

namespace normlens::lab {

// Checked between two steps: training pauses while it is on.
class PauseSwitch {
 public:
  void pause();
  void goOn();
  [[nodiscard]] bool paused() const;
  // Returns when it is off, or at a request to stop.
  void wait(std::stop_token stop) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  bool paused_ = false;
};

struct RunPlace {
  std::string name;              // The run's, written into every record.
  std::filesystem::path folder;  // exists; empty: nothing is kept, and nothing resumed
  bool startAnew = false;        // a checkpoint in it is left alone until the new run's takes its place
};

struct RunControl {
  std::function<void(const RunRecord& record)> onRecord;
  std::stop_token stop;          // The trained epochs are kept: the result is that of the epochs done.
  PauseSwitch* pause = nullptr;  // nullptr: it is never paused
};

// Error codes: BadInput for settings or data that cannot be used; Unreadable for data or a checkpoint that cannot be
// read, or that is another run's; WriteFailed; RunFailed for what LibTorch raises, want of memory too. A stop is no
// error: `end` of the result records it.
[[nodiscard]] Result<RunResult> train(const RunSettings& settings, const RunPlace& place, const RunControl& control);

// The files of a folder that train() reads or writes: what a confined process is granted.
[[nodiscard]] std::vector<std::filesystem::path> filesOfRun(const RunSettings& settings,
                                                            const std::filesystem::path& folder);

}  // namespace normlens::lab
