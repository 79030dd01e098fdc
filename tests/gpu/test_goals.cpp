// Which points each goal of the GPU is judged at, on times that are made up.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/bench/norms/norm_report.h"

namespace normlens::bench {
namespace {

// Every op as fast as a copy for its bytes, and all of them as fast for the host.
PointTimes even(at::ScalarType type, int64_t rows, int64_t width) {
  PointTimes times{{at::Device(at::kCUDA, 0), type, rows, width}, 0, {}, {}, {}};
  const int64_t copied = 2 * bytesOf(times.point);
  for (const char* op : {kCopy, kTorchLayerNorm, kTorchRmsNorm, "rms_norm", "layer_norm", "center"}) {
    times.ops.push_back({op, 0.01, 0.005, 0, copied, 100});
  }
  for (const char* op : {kTorchAddLayerNorm, "add_rms_norm", "add_layer_norm", "add_center"}) {
    times.ops.push_back({op, 0.02, 0.005, 0, 2 * copied, 100});
  }
  times.ops.push_back({kEmpty, 0.001, 0.002, 0, 0, 100});
  return times;
}

OpTime& of(PointTimes& times, const std::string& op) { return *std::ranges::find(times.ops, op, &OpTime::op); }

// How often a goal whose name holds `words` is judged for an op, and missed.
std::pair<int, int> judged(const PointTimes& times, const std::string& words, const std::string& op) {
  std::pair<int, int> counts;
  for (const GoalResult& result : checkGoals({times})) {
    if (std::string(result.goal).find(words) == std::string::npos || result.op != op) continue;
    ++counts.first;
    if (!result.met()) ++counts.second;
  }
  return counts;
}

using Counts = std::pair<int, int>;

TEST(Goals, BandwidthIsJudgedBySize) {
  EXPECT_EQ(judged(even(at::kFloat, 65536, 64), "92%", "layer_norm"), Counts(1, 0)) << "16 MB of narrow rows";
  EXPECT_EQ(judged(even(at::kFloat, 1024, 4096), "92%", "add_rms_norm"), Counts(1, 0));
  EXPECT_EQ(judged(even(at::kBFloat16, 8192, 768), "92%", "layer_norm"), Counts(0, 0)) << "12 MB";
  PointTimes slow = even(at::kFloat, 65536, 64);
  of(slow, "center").ms = 0.0115;
  EXPECT_EQ(judged(slow, "92%", "center"), Counts(1, 1));
}

TEST(Goals, SmallTensorsAreJudgedByTheirLatencyAndTheHostsTime) {
  PointTimes small = even(at::kFloat, 128, 768);
  EXPECT_EQ(judged(small, "below 1 MB", "rms_norm"), Counts(1, 0));
  EXPECT_EQ(judged(small, "below 1 MB", "add_rms_norm"), Counts(0, 0)) << "a copy is no measure of it";
  EXPECT_EQ(judged(small, "the host", "rms_norm"), Counts(2, 0));
  of(small, "rms_norm").hostMs = 0.006;
  of(small, "rms_norm").ms = 0.012;
  EXPECT_EQ(judged(small, "the host", "rms_norm"), Counts(2, 2));
  EXPECT_EQ(judged(small, "below 1 MB", "rms_norm"), Counts(1, 1));
  EXPECT_EQ(judged(even(at::kFloat, 1024, 768), "the host", "rms_norm"), Counts(0, 0)) << "3 MB";
}

}  // namespace
}  // namespace normlens::bench
