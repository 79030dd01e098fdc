#include <gtest/gtest.h>

#include "tests/bench/norms/gpu_memory.h"

namespace normlens::bench {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

TEST(GpuMemory, WhatIsMeasuredFitsTheCard) {
  for (const int64_t gigabytes : {2, 4, 8, 16, 24, 48, 80}) {
    const int64_t largest = largestTensorOnGpu(gigabytes * kGiB);
    EXPECT_GT(largest, 0) << gigabytes;
    EXPECT_LE(8 * largest + kBacklogBytes, gigabytes * kGiB) << gigabytes;
  }
  EXPECT_EQ(largestTensorOnGpu(kGiB / 4), 0) << "not even the backlog fits";
}

TEST(GpuMemory, ALargeCardIsMeasuredWith65536RowsOf16384Doubles) {
  EXPECT_EQ(largestTensorOnGpu(139 * kGiB), int64_t{65536} * 16384 * 8);
}

}  // namespace
}  // namespace normlens::bench
