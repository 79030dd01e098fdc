// Weight and bias, applied to the numbers of a thread.
#pragma once

#include "kernels/cuda/pack.cuh"

namespace normlens::kernels::cuda {

// For a part with few items, weight and bias are read while the sums of the row are put together; more of them would
// take the registers of the row. They are read some at a time, all before the first element that they apply to is
// written: behind a write to memory that might be theirs, a read is not begun.
// registers: for them and the row together.
template <class C, int vector, int items, int registers = 32>
class RowConstants {
  static constexpr int kRegistersOfPack = sizeof(Pack<C, vector>) > 4 ? sizeof(Pack<C, vector>) / 4 : 1;
  static constexpr bool kEarly = items > 0 && items* kRegistersOfPack <= 8;

 public:
  // Items whose weight and bias are held.
  static constexpr int kAtOnce = [] {
    if (kEarly || items == 0) return items;
    constexpr int ofRow = items * (vector > 1 ? 4 : kRegistersOfPack);
    int atOnce = 1;
    while (2 * atOnce <= items && ofRow + 2 * atOnce * 2 * kRegistersOfPack <= registers) atOnce *= 2;
    return atOnce;
  }();

  // The pointers are for the part's element 0. Null: 1 and 0.
  __device__ inline RowConstants(const C* __restrict__ weight, const C* __restrict__ bias)
      : weight_(weight), bias_(bias) {}

  // Runs while the row is summed up, if there is room.
  template <class Part>
  __device__ inline void readEarly(Part& part) {
    if constexpr (kEarly) readGroup(part, 0);
  }
  // Runs before items [first, first + kAtOnce) are written.
  template <class Part>
  __device__ inline void readLate(Part& part, int first) {
    if constexpr (!kEarly && !kOneByOne) readGroup(part, first);
  }

  template <class Sum>
  __device__ inline void apply(int item, int i, Sums<Sum, vector>& v) const {
    if (weight_) {
      const auto w = unpacked<C, vector>(packOf(weights_, weight_, item, i));
#pragma unroll
      for (int k = 0; k < vector; ++k) v.at[k] *= w.at[k];
    }
    if (bias_) {
      const auto b = unpacked<C, vector>(packOf(biases_, bias_, item, i));
#pragma unroll
      for (int k = 0; k < vector; ++k) v.at[k] += b.at[k];
    }
  }

 protected:
  static constexpr int kHeld = kAtOnce > 0 ? kAtOnce : 1;
  static constexpr bool kOneByOne = items == 0 || (!kEarly && kAtOnce == 1);

  template <class Part>
  __device__ inline void readGroup(Part& part, int first) {
    const auto into = [&](Pack<C, vector>* held, const C* from) {
      part.template some<kHeld>(first,
                                [&](int item, int i, auto&) { held[item - first] = loadPack<C, vector>(from + i); });
    };
    if (weight_) into(weights_, weight_);
    if (bias_) into(biases_, bias_);
  }

 private:
  // Reads from memory where there is no room for two, and for a part in shared memory, which has any number of items.
  __device__ inline static Pack<C, vector> packOf(const Pack<C, vector>* held, const C* from, int item, int i) {
    if constexpr (kOneByOne) return loadPack<C, vector>(from + i);
    return held[item % kHeld];
  }

  const C* weight_;
  const C* bias_;
  Pack<C, vector> weights_[kHeld];
  Pack<C, vector> biases_[kHeld];
};

// These are read once for many rows, where a thread has registers for all of them.
template <class C, int vector, int items>
class KeptConstants : public RowConstants<C, vector, items, 48> {
  using Base = RowConstants<C, vector, items, 48>;
  static constexpr bool kAllFit = Base::kAtOnce == items;

 public:
  using Base::Base;
  template <class Part>
  __device__ inline void readOnce(Part& part) {
    if constexpr (kAllFit) this->readGroup(part, 0);
  }
  template <class Part>
  __device__ inline void readLate(Part& part, int first) {
    if constexpr (!kAllFit) this->readGroup(part, first);
  }
};

}  // namespace normlens::kernels::cuda
