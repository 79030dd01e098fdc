// Weight and bias, applied to the numbers of a thread.
#pragma once

#include "kernels/cuda/pack.cuh"

namespace normlens::kernels::cuda {

// Of a part with few items, weight and bias are on their way while the sums of the row are put together; more of them
// would take the registers of the row.
template <class C, int vector, int items>
class RowConstants {
 public:
  // Of the part's element 0. Null: 1 and 0.
  __device__ inline RowConstants(const C* __restrict__ weight, const C* __restrict__ bias)
      : weight_(weight), bias_(bias) {}

  template <class Part>
  __device__ inline void read(Part& part) {
    if constexpr (kEarly) {
      if (weight_) part.each([&](int item, int i, auto&) { weights_[item] = loadPack<C, vector>(weight_ + i); });
      if (bias_) part.each([&](int item, int i, auto&) { biases_[item] = loadPack<C, vector>(bias_ + i); });
    }
  }

  template <class Sum>
  __device__ inline void apply(int item, int i, Sums<Sum, vector>& v) const {
    if (weight_) {
      const auto w = unpacked<C, vector>(kEarly ? weights_[item] : loadPack<C, vector>(weight_ + i));
#pragma unroll
      for (int k = 0; k < vector; ++k) v.at[k] *= w.at[k];
    }
    if (bias_) {
      const auto b = unpacked<C, vector>(kEarly ? biases_[item] : loadPack<C, vector>(bias_ + i));
#pragma unroll
      for (int k = 0; k < vector; ++k) v.at[k] += b.at[k];
    }
  }

 private:
  static constexpr size_t kBytesOfPack = sizeof(Pack<C, vector>) > 4 ? sizeof(Pack<C, vector>) : 4;  // a register
  static constexpr bool kEarly = items > 0 && items* kBytesOfPack <= 32;
  const C* weight_;
  const C* bias_;
  Pack<C, vector> weights_[kEarly ? items : 1];
  Pack<C, vector> biases_[kEarly ? items : 1];
};

}  // namespace normlens::kernels::cuda
