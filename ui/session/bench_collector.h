// Collects what a measurement has reported so far: the result as it would be if it ended now. Thread: GUI thread.
#pragma once

#include <optional>

#include "core/protocol/bench_messages.h"

namespace normlens::ui {

class BenchCollector {
 public:
  void put(const protocol::BenchUpdate& update);
  void clear() { result_.reset(); }
  // nullopt before the first round was reported; its `cancelled` is set: it is not complete.
  [[nodiscard]] const std::optional<protocol::BenchResult>& result() const { return result_; }
  [[nodiscard]] int wanted() const { return wanted_; }  // points

 private:
  std::optional<protocol::BenchResult> result_;
  int wanted_ = 0;
};

}  // namespace normlens::ui
