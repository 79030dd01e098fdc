// `n` neighbors of a row, read and written at once.
#pragma once

#include <cstring>

#include "kernels/cuda/element.cuh"

namespace normlens::kernels::cuda {

template <class T, int n>
inline constexpr bool kInPairs = sizeof(T) == 2 && n > 1;

template <class T, int n, bool inPairs = kInPairs<T, n>>
struct alignas(sizeof(T) * n) Pack {
  T at[n];
};
template <class T, int n>
struct alignas(sizeof(T) * n) Pack<T, n, true> {
  Pair<T> at[n / 2];
};

// The same in the type of the sums.
template <class Sum, int n>
struct Sums {
  Sum at[n];
};

template <class T, int n>
__device__ inline Pack<T, n> loadPack(const T* from) {
  return *reinterpret_cast<const Pack<T, n>*>(from);
}
#if defined(__CUDACC__)
// Reads memory that no thread writes meanwhile. The data skips the first-level cache, which is for weight and bias.
__device__ inline uint4 readOnce(const uint4* from) {
  uint4 v;
  asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
      : "l"(__cvta_generic_to_global(from)));
  return v;
}
#endif
template <class T, int n>
__device__ inline Pack<T, n> loadOnce(const T* from) {
  if constexpr (sizeof(T) * n == sizeof(uint4)) {
    const uint4 bits = readOnce(reinterpret_cast<const uint4*>(from));
    Pack<T, n> pack;
    memcpy(&pack, &bits, sizeof pack);
    return pack;
  } else {
    return loadPack<T, n>(from);
  }
}
template <class T, int n>
__device__ inline void storePack(T* to, const Pack<T, n>& pack) {
  *reinterpret_cast<Pack<T, n>*>(to) = pack;
}

template <class T, int n>
__device__ inline auto unpacked(const Pack<T, n>& pack) {
  Sums<typename SumOf<T>::Type, n> sums;
  if constexpr (kInPairs<T, n>) {
#pragma unroll
    for (int k = 0; k < n; k += 2) toSums(pack.at[k / 2], sums.at[k], sums.at[k + 1]);
  } else {
#pragma unroll
    for (int k = 0; k < n; ++k) sums.at[k] = toSum(pack.at[k]);
  }
  return sums;
}

template <class T, int n>
__device__ inline Pack<T, n> packed(const Sums<typename SumOf<T>::Type, n>& sums) {
  Pack<T, n> pack;
  if constexpr (kInPairs<T, n>) {
#pragma unroll
    for (int k = 0; k < n; k += 2) fromSums(sums.at[k], sums.at[k + 1], pack.at[k / 2]);
  } else {
#pragma unroll
    for (int k = 0; k < n; ++k) fromSum(sums.at[k], pack.at[k]);
  }
  return pack;
}

// x + residual, rounded.
template <class T, int n>
__device__ inline Pack<T, n> added(const Pack<T, n>& a, const Pack<T, n>& b) {
  auto sums = unpacked<T, n>(a);
  const auto more = unpacked<T, n>(b);
#pragma unroll
  for (int k = 0; k < n; ++k) sums.at[k] += more.at[k];
  return packed<T, n>(sums);
}

}  // namespace normlens::kernels::cuda
