// The part of a row, or of a chunk of one, that a thread reads, keeps while its statistics are summed up, and writes.
#pragma once

#include "kernels/cuda/element.cuh"

namespace normlens::kernels::cuda {

template <class T, int vector>
__device__ inline Pack<T, vector> loadPack(const T* from) {
  return *reinterpret_cast<const Pack<T, vector>*>(from);
}
template <class T, int vector>
__device__ inline void storePack(T* to, const Pack<T, vector>& v) {
  *reinterpret_cast<Pack<T, vector>*>(to) = v;
}

// x + residual, rounded.
template <class T, int vector>
__device__ inline void addTo(Pack<T, vector>& kept, const Pack<T, vector>& added) {
#pragma unroll
  for (int k = 0; k < vector; ++k) fromSum(toSum(kept.at[k]) + toSum(added.at[k]), kept.at[k]);
}

// Packs of a residual that are on their way at once. They are read into registers of their own, all of a batch before
// the first is waited for: with the sum written in between, each read would wait for the write before it.
template <class T, int vector, int packs>
inline constexpr int kResidualsAtOnce = [] {
  constexpr int kRegisters = 16;
  constexpr int ofPack = sizeof(Pack<T, vector>) > 4 ? static_cast<int>(sizeof(Pack<T, vector>) / 4) : 1;
  return packs < kRegisters / ofPack ? packs : kRegisters / ofPack;
}();

// In registers. `width` elements are there; `lanes` threads share them.
template <class T, int vector, int items>
struct RegisterPart {
  Pack<T, vector> kept[items];
  int lane;
  int lanes;
  int width;  // at most what a block can hold: an int is enough for all that is counted inside a part

  [[nodiscard]] __device__ inline int at(int item) const { return (item * lanes + lane) * vector; }

  template <class Visit>
  __device__ inline void each(const Visit& visit) {
#pragma unroll
    for (int item = 0; item < items; ++item) {
      if (const int i = at(item); i < width) visit(i, kept[item]);
    }
  }

  // Reads x, or x + residual, which is written to `sum`.
  __device__ inline void read(const T* x, const T* residual, T* sum) {
    each([&](int i, Pack<T, vector>& pack) { pack = loadPack<T, vector>(x + i); });
    if (!residual) return;
    constexpr int batch = kResidualsAtOnce<T, vector, items>;
#pragma unroll
    for (int first = 0; first < items; first += batch) {
      Pack<T, vector> added[batch];
#pragma unroll
      for (int k = 0; k < batch; ++k) {
        if (const int i = at(first + k); i < width) added[k] = loadPack<T, vector>(residual + i);
      }
#pragma unroll
      for (int k = 0; k < batch; ++k) {
        const int i = at(first + k);
        if (i >= width) continue;
        addTo(kept[first + k], added[k]);
        storePack<T, vector>(sum + i, kept[first + k]);
      }
    }
  }
};

// In shared memory, where element i of the row lies at i.
template <class T, int vector>
struct SharedPart {
  T* kept;
  int lane;
  int lanes;
  int width;

  template <class Visit>
  __device__ inline void each(const Visit& visit) {
    for (int i = lane * vector; i < width; i += lanes * vector) {
      visit(i, *reinterpret_cast<Pack<T, vector>*>(kept + i));
    }
  }

  __device__ inline void read(const T* x, const T* residual, T* sum) {
    each([&](int i, Pack<T, vector>& pack) { pack = loadPack<T, vector>(x + i); });
    if (residual) add(residual, sum);
  }

 private:
  __device__ inline void add(const T* residual, T* sum) {
    constexpr int batch = kResidualsAtOnce<T, vector, 8>;
    const int step = lanes * vector;
    for (int first = lane * vector; first < width; first += batch * step) {
      Pack<T, vector> added[batch];
#pragma unroll
      for (int k = 0; k < batch; ++k) {
        if (const int i = first + k * step; i < width) added[k] = loadPack<T, vector>(residual + i);
      }
#pragma unroll
      for (int k = 0; k < batch; ++k) {
        const int i = first + k * step;
        if (i >= width) continue;
        auto& pack = *reinterpret_cast<Pack<T, vector>*>(kept + i);
        addTo(pack, added[k]);
        storePack<T, vector>(sum + i, pack);
      }
    }
  }
};

}  // namespace normlens::kernels::cuda
