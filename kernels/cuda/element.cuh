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

// Two neighbors of a 16-bit type in one register, the first in the low half. Taking them as one number saves the
// instructions that would cut it up and put it together.
template <class T>
struct alignas(4) Pair {
  uint32_t bits;
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

__device__ inline void toSums(Pair<Half> pair, float& first, float& second) {
  const float2 both = __half22float2(reinterpret_cast<const __half2&>(pair));
  first = both.x;
  second = both.y;
}
__device__ inline void toSums(Pair<BFloat> pair, float& first, float& second) {
  first = __uint_as_float(pair.bits << 16);
  second = __uint_as_float(pair.bits & 0xffff0000U);
}
__device__ inline void fromSums(float first, float second, Pair<Half>& to) {
  reinterpret_cast<__half2&>(to) = __floats2half2_rn(first, second);
}
__device__ inline void fromSums(float first, float second, Pair<BFloat>& to) {
  reinterpret_cast<__nv_bfloat162&>(to) = __floats2bfloat162_rn(first, second);
}
#endif

}  // namespace normlens::kernels::cuda
