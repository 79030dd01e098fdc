// How the fake engine misbehaves, from its command line:
//   --slow METHOD=MS    reports progress for so long first, and stops when cancelled
//   --deaf METHOD=MS    sleeps for so long first, and hears nothing meanwhile
//   --crash METHOD      aborts instead of answering
//   --garbage METHOD    writes bytes that are no frame before it answers
//   --error METHOD      answers with an error
//   --nonsense METHOD   answers with an object of the wrong types
//   --attack METHOD=HOW writes what no engine should before it answers (see attack()), or stops here
//   --while FILE        misbehaves only as long as FILE exists, and removes it the first time
//   --blocks N          size of the model
//   --early MS          analyses early, and then takes so long to confirm it
//   --surprise NORM     ... and finds this one blocked
//   --gpu NAME          has that GPU
//   --round MS          pause between the rounds of a measurement and the epochs of a run, not really mischief
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "core/base/task.h"

namespace normlens::fake {

// What a window must outlive: an engine that a hostile model has taken over, or that is broken. Writes to the stream
// behind the dispatcher's back, or stops the process. The rows are in attacks.cpp; an unknown name ends the process.
void attack(const std::string& how);

struct Mischief {
  std::vector<std::pair<std::string, int>> slow, deaf;
  std::vector<std::string> crash, garbage, error, nonsense;
  std::vector<std::pair<std::string, std::string>> attacks;  // method, how
  std::string onlyWhile, gpu;
  int blocks = 4;
  int early = 0, surprise = -1;
  std::chrono::milliseconds roundPause{2};

  static Mischief fromArguments(int argc, char** argv);
  // Called first by every handler. An error or a cancellation is the handler's answer.
  [[nodiscard]] Status before(const std::string& method, const Task& task) const;
  [[nodiscard]] Status confirming(const Task& task) const;
  [[nodiscard]] bool talksNonsense(const std::string& method) const;
};

}  // namespace normlens::fake
