// The scalar types of the kernels on the device: how they lie in memory, and their conversion to the type of the sums.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace normlens::kernels::cuda {

struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};

template <class T>
struct SumOf {
  using Type = float;
};
template <>
struct SumOf<double> {
  using Type = double;
};

// `n` neighbours, read and written at once.
template <class T, int n>
struct alignas(sizeof(T) * n) Pack {
  T at[n];
};

__device__ inline float toSum(float x) { return x; }
__device__ inline double toSum(double x) { return x; }
__device__ inline void fromSum(float x, float& to) { to = x; }
__device__ inline void fromSum(double x, double& to) { to = x; }

#if defined(__CUDACC__)
__device__ inline float toSum(Half x) { return __half2float(__ushort_as_half(x.bits)); }
__device__ inline float toSum(BFloat x) { return __bfloat162float(__ushort_as_bfloat16(x.bits)); }
__device__ inline void fromSum(float x, Half& to) { to.bits = __half_as_ushort(__float2half_rn(x)); }
__device__ inline void fromSum(float x, BFloat& to) { to.bits = __bfloat16_as_ushort(__float2bfloat16_rn(x)); }
#endif

}  // namespace normlens::kernels::cuda
