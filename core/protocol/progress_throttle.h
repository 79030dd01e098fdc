// Decides which progress reports are worth sending: at most 20 in any second, and within one stage 50 ms apart; a new
// stage is sent at once while the budget lasts. Thread: guarded by its owner.
#pragma once

#include <chrono>
#include <deque>
#include <string>
#include <string_view>

namespace normlens::protocol {

class ProgressThrottle {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kPerSecond = 20;
  static constexpr std::chrono::milliseconds kSpacing{1000 / kPerSecond};

  [[nodiscard]] bool admit(std::string_view stage, Clock::time_point now) {
    while (!sent_.empty() && now - sent_.front() >= std::chrono::seconds(1)) sent_.pop_front();
    if (sent_.size() >= kPerSecond) return false;
    if (!sent_.empty() && stage == stage_ && now - sent_.back() < kSpacing) return false;
    stage_ = stage;
    sent_.push_back(now);
    return true;
  }

 private:
  std::string stage_;
  std::deque<Clock::time_point> sent_;  // Times within the last second.
};

}  // namespace normlens::protocol
