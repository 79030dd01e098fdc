// A whole run: its groups one after another, its checkpoint, its records, its files. Thread: one at a time.
#pragma once

#include <chrono>
#include <optional>

#include "core/base/stopwatch.h"
#include "core/lab/keep/checkpoint.h"
#include "core/lab/train.h"
#include "core/lab/training/group.h"

namespace normlens::lab {

class Run {
 public:
  Run(const RunSettings& settings, const Data& data, const RunPlace& place, const RunControl& control);

  // See train().
  [[nodiscard]] Result<RunResult> carryOut();

 private:
  [[nodiscard]] Status prepare(const Data& data);
  [[nodiscard]] Status resume();
  // Returns whether the run goes on: false after a request to stop.
  [[nodiscard]] Result<bool> trainGroup(const std::vector<RunMember>& members);
  [[nodiscard]] Result<bool> measureGroup(Group& group);
  [[nodiscard]] Status exportMembers(const Group& group);
  // Waits while the run is paused; false: a stop was requested.
  [[nodiscard]] bool goOn();

  void report(RunRecord record);
  void reportEvent(RunEvent event, const std::string& text = {});
  [[nodiscard]] Status keep();
  [[nodiscard]] Status keepNowAndThen();
  [[nodiscard]] Result<RunResult> finish(RunEnd end);

  const RunSettings& settings_;
  const Data& data_;
  const RunPlace& place_;
  const RunControl& control_;
  Group::Sources sources_;
  std::vector<std::vector<RunMember>> groups_;
  std::optional<Group> group_;
  Checkpoint state_;  // all of it but what the group holds
  int measured_ = 0;  // rounds of the group that is measured
  bool resumed_ = false;
  Stopwatch sinceStart_;
  Stopwatch sinceKept_;
};

}  // namespace normlens::lab
