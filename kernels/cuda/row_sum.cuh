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

template <class Sum>
__device__ inline Moments<Sum> sumOverWarp(Moments<Sum> v, int lanes) {
  for (int step = lanes / 2; step > 0; step /= 2) {
    v.sum += __shfl_xor_sync(0xffffffffU, v.sum, step);
    v.squares += __shfl_xor_sync(0xffffffffU, v.squares, step);
  }
  return v;
}

// Every thread of a block calls this, and each gets the sum over the `lanes` threads of its row, always added in the
// same order. lanes: a power of two up to 32, or the whole block.
template <class Sum>
__device__ inline Moments<Sum> sumOverRow(Moments<Sum> v, int lanes) {
  if (lanes <= kWarp) return sumOverWarp(v, lanes);
  __shared__ Moments<Sum> ofWarp[kMaxThreads / kWarp];
  v = sumOverWarp(v, kWarp);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  __syncthreads();  // the sums before this one have been read
  if (lane == 0) ofWarp[warp] = v;
  __syncthreads();
  v = lane < lanes / kWarp ? ofWarp[lane] : Moments<Sum>{};
  return sumOverWarp(v, kWarp);
}

}  // namespace normlens::kernels::cuda
