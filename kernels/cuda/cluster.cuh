// A cluster of blocks, which run at the same time and read each other's shared memory. Compute capability 9.0 and
// newer: for older GPUs what is here compiles and is never launched.
#pragma once

#include "kernels/cuda/row_sum.cuh"

namespace normlens::kernels::cuda {

#if defined(__CUDACC__)
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
__device__ inline int blocksOfCluster() {
  unsigned blocks;
  asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(blocks));
  return static_cast<int>(blocks);
}
__device__ inline int blockOfCluster() {
  unsigned block;
  asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(block));
  return static_cast<int>(block);
}
// All threads of the cluster meet; what one wrote to shared memory before, all see behind it.
__device__ inline void waitForCluster() {
  asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}
// Returns the object of another block of the cluster that corresponds to `mine` of this block.
template <class T>
__device__ inline const T& ofBlock(const T& mine, int block) {
  unsigned long long there;
  asm volatile("mapa.u64 %0, %1, %2;"
               : "=l"(there)
               : "l"(reinterpret_cast<unsigned long long>(&mine)), "r"(static_cast<unsigned>(block)));
  return *reinterpret_cast<const T*>(there);
}
#else
__device__ inline int blocksOfCluster() { return 1; }
__device__ inline int blockOfCluster() { return 0; }
__device__ inline void waitForCluster() { __syncthreads(); }
template <class T>
__device__ inline const T& ofBlock(const T& mine, int) {
  return mine;
}
#endif
#endif

template <class Sum>
struct BlockSum {
  Sum sum;
};
template <class Sum>
struct BlockMoments {
  Sum sum;
  Sum squares;
};

// Every thread of the cluster calls this, and each gets the sum over all of them, always added in the same order. The
// cluster must meet (waitForCluster) before any of its threads requests a second sum of the same type, or ends.
template <class Sum>
__device__ inline Sum sumOverCluster(Sum v) {
  auto& mine = sharedObject<BlockSum<Sum>>();
  v = sumOverRow(v, static_cast<int>(blockDim.x));
  if (threadIdx.x == 0) mine.sum = v;
  waitForCluster();
  Sum sum = 0;
  for (int block = 0; block < blocksOfCluster(); ++block) sum += ofBlock(mine, block).sum;
  return sum;
}

template <class Sum>
__device__ inline Moments<Sum> sumOverCluster(Moments<Sum> v) {
  auto& mine = sharedObject<BlockMoments<Sum>>();
  v = sumOverRow(v, static_cast<int>(blockDim.x));
  if (threadIdx.x == 0) {
    mine.sum = v.sum;
    mine.squares = v.squares;
  }
  waitForCluster();
  Moments<Sum> all;
  for (int block = 0; block < blocksOfCluster(); ++block) {
    const auto& of = ofBlock(mine, block);
    all.sum += of.sum;
    all.squares += of.squares;
  }
  return all;
}

}  // namespace normlens::kernels::cuda
