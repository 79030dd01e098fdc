// The words of CUDA that the kernels in kernels/cuda use, for running them on the CPU: the threads of a block are
// coroutines. One warp after the other runs up to the block's next barrier, and within a warp each thread runs up to
// the next exchange. The blocks of a cluster run like one block; other blocks run one after the other. Include this
// before the kernels.
//
// It shows whether each element is read, reduced and written as it should be. A warp that reads what another warp has
// not written yet, because a barrier is missing, gets NaN. It shows no other races, and nothing about memory alignment
// or speed.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming,cppcoreguidelines-avoid-non-const-global-variables)
#define __global__
#define __device__
#define __launch_bounds__(...)

namespace normlens::kernels::test {

struct GridIndex {
  unsigned x = 0;
};

inline constexpr int kMostBlocksOfCluster = 8;

// Runs body() once for each thread of each block. blocksOfCluster: divides `blocks`.
void runGrid(int64_t blocks, int threads, int64_t sharedBytes, const std::function<void()>& body,
             int blocksOfCluster = 1);

int blocksOfCluster();  // of the thread whose turn it is, as blockOfCluster
int blockOfCluster();

// Leaves this thread until all of its block or its cluster have come as far.
void waitForBlock();
// Gives `mine` to the warp and takes what thread lane ^ step gave, once all of the warp have come as far.
double exchangeInWarp(double mine, int step);

unsigned char* sharedMemory();
// Fills an object in shared memory with NaN, now and before each block or cluster. Returns true.
bool poisonForEachBlock(void* object, size_t bytes);

// A copy that arrives when this thread waits for its copies, not before.
void requestCopy(void* to, const void* from, size_t bytes);
void waitForCopies();

}  // namespace normlens::kernels::test

// Of the thread whose turn it is.
extern normlens::kernels::test::GridIndex threadIdx, blockIdx, blockDim, gridDim;

inline void __syncthreads() { normlens::kernels::test::waitForBlock(); }
template <class T>
T __shfl_xor_sync(unsigned, T value, int step) {
  return static_cast<T>(normlens::kernels::test::exchangeInWarp(value, step));
}

inline void __pipeline_memcpy_async(void* to, const void* from, size_t bytes) {
  normlens::kernels::test::requestCopy(to, from, bytes);
}
inline void __pipeline_commit() {}
inline void __pipeline_wait_prior(size_t) { normlens::kernels::test::waitForCopies(); }

inline int __popc(unsigned bits) { return std::popcount(bits); }

struct alignas(16) uint4 {
  unsigned x, y, z, w;
} __attribute__((may_alias));
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming,cppcoreguidelines-avoid-non-const-global-variables)

namespace normlens::kernels::cuda {
using std::isfinite;
using std::sqrt;
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline uint4 readOnce(const uint4* from) { return *from; }
inline unsigned char* dynamicShared() { return test::sharedMemory(); }
template <class T>
T& sharedObject() {
  static T ofBlock[test::kMostBlocksOfCluster];
  [[maybe_unused]] static const bool kPoisoned = test::poisonForEachBlock(ofBlock, sizeof ofBlock);
  return ofBlock[test::blockOfCluster()];
}
using test::blockOfCluster;
using test::blocksOfCluster;
inline void waitForCluster() { test::waitForBlock(); }
template <class T>
const T& ofBlock(const T& mine, int block) {
  return (&mine)[block - blockOfCluster()];
}
}  // namespace normlens::kernels::cuda
