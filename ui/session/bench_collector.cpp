#include "ui/session/bench_collector.h"

#include <algorithm>

namespace normlens::ui {

void BenchCollector::put(const protocol::BenchUpdate& update) {
  if (!result_) result_.emplace().cancelled = true;
  wanted_ = update.points;
  auto& points = result_->points;
  const auto index = static_cast<size_t>(std::max(0, update.index));
  if (index > points.size()) return;  // one was never reported: an engine that counts otherwise
  if (index == points.size()) points.emplace_back();
  points[index] = update.now;
}

}  // namespace normlens::ui
