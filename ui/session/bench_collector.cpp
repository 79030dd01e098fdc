#include "ui/session/bench_collector.h"

#include <algorithm>

#include "ui/session/words/bench_text.h"

namespace normlens::ui {

void BenchCollector::put(const protocol::BenchUpdate& update) {
  if (!result_) result_.emplace().cancelled = true;
  wanted_ = update.points;
  auto& points = result_->points;
  const auto index = static_cast<size_t>(std::max(0, update.index));
  if (index > points.size()) return;  // one was never told of: an engine that counts otherwise
  if (index == points.size()) points.emplace_back();
  points[index] = update.now;
  const protocol::BenchPoint* first = firstMeasured(*result_);
  if (first == nullptr) return;
  result_->device = first->device == "cpu" ? "CPU" : "CUDA";
  result_->original = first->a.latency;
  result_->folded = first->b ? first->b->latency : protocol::LatencyStats();
  result_->speedup = first->speedup;
  result_->ci_low = first->ci_low;
  result_->ci_high = first->ci_high;
  result_->noise = first->noise;
}

}  // namespace normlens::ui
