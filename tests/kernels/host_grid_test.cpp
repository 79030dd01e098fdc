// The host grid itself: what a kernel shows there whose warps read what others write without a barrier in between.
#include "tests/kernels/host_grid.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/cuda/row_sum.cuh"

namespace normlens::kernels::test {
namespace {

constexpr int kThreads = 4 * cuda::kWarp;

// Each thread writes the sum of 1 over its block, row after row. In turn: the barrier between writing the sums of the
// warps and reading them, and the one before they are written again.
template <bool beforeRead, bool beforeWrite>
void sumRows(int rows, std::vector<double>& sums) {
  auto& ofWarp = cuda::sharedObject<cuda::WarpSums<double>>();
  const auto thread = static_cast<int>(threadIdx.x), lane = thread % cuda::kWarp;
  for (int row = 0; row < rows; ++row) {
    const double sum = cuda::sumOverWarp(static_cast<double>(1 + row), cuda::kWarp);
    if (lane == 0) ofWarp.sums[thread / cuda::kWarp] = sum;
    if constexpr (beforeRead) __syncthreads();
    const double mine = lane < kThreads / cuda::kWarp ? ofWarp.sums[lane] : 0;
    sums[static_cast<size_t>(row * kThreads + thread)] = cuda::sumOverWarp(mine, cuda::kWarp);
    if constexpr (beforeWrite) __syncthreads();
  }
}

// Of all threads and rows, how many have another sum than they should.
template <bool beforeRead, bool beforeWrite>
int wrongSums() {
  constexpr int kRows = 3;
  std::vector<double> sums(kRows * kThreads);
  runGrid(1, kThreads, 0, [&] { sumRows<beforeRead, beforeWrite>(kRows, sums); });
  int wrong = 0;
  for (int i = 0; i < kRows * kThreads; ++i) {
    wrong += sums[static_cast<size_t>(i)] == kThreads * (1 + i / kThreads) ? 0 : 1;
  }
  return wrong;
}

TEST(HostGrid, AKernelWithItsBarriersIsRight) { EXPECT_EQ((wrongSums<true, true>()), 0); }

TEST(HostGrid, AMissingBarrierBeforeReadingShows) { EXPECT_GT((wrongSums<false, true>()), 0); }

TEST(HostGrid, AMissingBarrierBeforeWritingAgainShows) { EXPECT_GT((wrongSums<true, false>()), 0); }

TEST(HostGrid, SharedMemoryOfABlockBeforeIsPoisoned) {
  bool isPoisoned = true;
  runGrid(2, cuda::kWarp, 0, [&] {
    double& mine = cuda::sharedObject<cuda::WarpSums<double>>().sums[threadIdx.x];
    isPoisoned &= std::isnan(mine);
    mine = 1;
  });
  EXPECT_TRUE(isPoisoned);
}

}  // namespace
}  // namespace normlens::kernels::test
