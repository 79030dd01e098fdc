// Sums over the threads that share a row.
#pragma once

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/launch_config.h"

namespace normlens::kernels::cuda {

// Of x - shift.
template <class Sum>
struct Moments {
  Sum sum = 0;
  Sum squares = 0;
};

// With the same number of the thread whose lane differs by `step`.
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
// any of its threads asks for a second sum of the same type.
template <class Sum>
__device__ inline Sum sumOverRow(Sum v, int lanes) {
  v = sumOverWarp(v, lanes);
  if (lanes <= kWarp) return v;
  __shared__ Sum ofWarp[kMaxThreads / kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (lane == 0) ofWarp[threadIdx.x / kWarp] = v;
  __syncthreads();
  return sumOverWarp(lane < lanes / kWarp ? ofWarp[lane] : Sum{0}, kWarp);
}

template <class Sum>
__device__ inline Moments<Sum> sumOverRow(Moments<Sum> v, int lanes) {
  v = sumOverWarp(v, lanes);
  if (lanes <= kWarp) return v;
  __shared__ Sum sums[kMaxThreads / kWarp];
  __shared__ Sum squares[kMaxThreads / kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (lane == 0) {
    sums[threadIdx.x / kWarp] = v.sum;
    squares[threadIdx.x / kWarp] = v.squares;
  }
  __syncthreads();
  v = lane < lanes / kWarp ? Moments<Sum>{sums[lane], squares[lane]} : Moments<Sum>{};
  return sumOverWarp(v, kWarp);
}

__device__ inline void sumsAreRead(int lanes) {
  if (lanes > kWarp) __syncthreads();
}

}  // namespace normlens::kernels::cuda
