#include <gtest/gtest.h>

#include <algorithm>

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

// Inputs and outputs of one call after another, until the first ones come again.
TEST(GpuMemory, WhatIsSaidToComeFromMemoryHasLeftTheCache) {
  constexpr int64_t kCache = int64_t{60} << 20;
  constexpr int64_t kMany = int64_t{128} << 10;  // bytes, of which so many sets are made
  for (int64_t bytes = 64; bytes <= 4 * kGiB; bytes *= 2) {
    const int64_t all = bytes * setsOnGpu(bytes);
    if (comesFromMemory(bytes)) {
      EXPECT_GT(all, kCache) << bytes;
    }
    EXPECT_TRUE(bytes < kMany || comesFromMemory(bytes)) << bytes;
    EXPECT_LE(all, std::max(bytes, kGiB / 8)) << bytes << ": no more than that of a card";
  }
  EXPECT_FALSE(comesFromMemory(256));
}

}  // namespace
}  // namespace normlens::bench
