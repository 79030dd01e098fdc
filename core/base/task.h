// A Task goes into a long piece of work: where to report progress, and how the work learns that it should stop.
#pragma once

#include <functional>
#include <stop_token>
#include <string_view>

#include "core/base/result.h"

namespace normlens {

// Passed by const reference down the call chain. Thread: report() may be called from any thread that does the work.
struct Task {
  // stage: what is being done, in words ("verifying in float64"); fraction in [0, 1], or negative when unknown.
  std::function<void(std::string_view stage, double fraction)> onProgress;
  std::stop_token stop;

  void report(std::string_view stage, double fraction = -1.0) const {
    if (onProgress) onProgress(stage, fraction);
  }
  [[nodiscard]] bool cancelled() const { return stop.stop_requested(); }
  [[nodiscard]] Status check() const {
    if (cancelled()) return fail(ErrorCode::Cancelled, "stopped on request");
    return {};
  }
};

}  // namespace normlens
