// Sums over the threads that share a row.
#pragma once

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/launch_config.h"

namespace normlens::kernels::cuda {

// The sums of x - shift and of its square.
template <class Sum>
struct Moments {
  Sum sum = 0;
  Sum squares = 0;
};

template <class Sum>
struct WarpSums {
  Sum sums[kMaxThreads / kWarp];
};
template <class Sum>
struct WarpMoments {
  Sum sums[kMaxThreads / kWarp];
  Sum squares[kMaxThreads / kWarp];
};

#if defined(__CUDACC__)
// Returns the block's own object of each type, in shared memory.
template <class T>
__device__ inline T& sharedObject() {
  __shared__ T object;
  return object;
}
#endif

// Adds the same number of the thread whose lane differs by `step`.
template <class Sum>
__device__ inline void addAcross(Sum& v, int step) {
  v += __shfl_xor_sync(0xffffffffU, v, step);
}
template <class Sum>
__device__ inline void addAcross(Moments<Sum>& v, int step) {
  addAcross(v.sum, step);
  addAcross(v.squares, step);
}

// Value: a number, or Moments.
template <class Value>
__device__ inline Value sumOverWarp(Value v, int lanes) {
#pragma unroll
  for (int step = kWarp / 2; step > 0; step /= 2) {
    if (step < lanes) addAcross(v, step);
  }
  return v;
}

// Every thread of a block calls this, and each gets the sum over the `lanes` threads of its row, always added in the
// same order. lanes: a power of two up to 32, or the whole block. The block must meet at a barrier (sumsAreRead) before
// any of its threads requests a second sum of the same type.
template <class Sum>
__device__ inline Sum sumOverRow(Sum v, int lanes) {
  v = sumOverWarp(v, lanes);
  if (lanes <= kWarp) return v;
  auto& ofWarp = sharedObject<WarpSums<Sum>>();
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (lane == 0) ofWarp.sums[threadIdx.x / kWarp] = v;
  __syncthreads();
  return sumOverWarp(lane < lanes / kWarp ? ofWarp.sums[lane] : Sum{0}, kWarp);
}

template <class Sum>
__device__ inline Moments<Sum> sumOverRow(Moments<Sum> v, int lanes) {
  v = sumOverWarp(v, lanes);
  if (lanes <= kWarp) return v;
  auto& ofWarp = sharedObject<WarpMoments<Sum>>();
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (lane == 0) {
    ofWarp.sums[threadIdx.x / kWarp] = v.sum;
    ofWarp.squares[threadIdx.x / kWarp] = v.squares;
  }
  __syncthreads();
  v = lane < lanes / kWarp ? Moments<Sum>{ofWarp.sums[lane], ofWarp.squares[lane]} : Moments<Sum>{};
  return sumOverWarp(v, kWarp);
}

__device__ inline void sumsAreRead(int lanes) {
  if (lanes > kWarp) __syncthreads();
}

}  // namespace normlens::kernels::cuda
