// The part of a row, or of a chunk of one, that a thread reads, keeps while its statistics are summed up, and writes.
#pragma once

#if defined(__CUDACC__)
#include <cuda_pipeline_primitives.h>
#endif

#include "kernels/cuda/launch_config.h"
#include "kernels/cuda/pack.cuh"
#include "kernels/cuda/row_sum.cuh"

namespace normlens::kernels::cuda {

// Packs, of at most `packs`, that are read into registers beside the row before the first of them is used: with a write
// in between, each read would wait for the write before it.
template <class T, int vector, int packs>
inline constexpr int kReadsAtOnce = [] {
  constexpr int kRegisters = 32;
  constexpr int ofPack = sizeof(Pack<T, vector>) > 4 ? static_cast<int>(sizeof(Pack<T, vector>) / 4) : 1;
  return packs < kRegisters / ofPack ? packs : kRegisters / ofPack;
}();

// A part in registers. `width` elements are there; `lanes` threads share them. Each warp has a stretch of its own, so
// from one item of a thread to the next it is always as far: an address and constants serve all of them.
template <class T, int vector, int items>
struct RegisterPart {
  static constexpr int kItems = items;
  Pack<T, vector> kept[items];
  int lane;
  int lanes;
  int width;  // at most what a block can hold: an int is enough for all that is counted inside a part

  __device__ inline RegisterPart(int laneOfRow, int lanesOfRow, int elements)
      : lane(laneOfRow), lanes(lanesOfRow), width(elements) {
    step_ = (items < kFewestItemsOfWarps && lanes < kWarp ? lanes : kWarp) * vector;
    start_ = (lanes > kWarp ? lane / kWarp * kWarp * items + lane % kWarp : lane) * vector;
  }

  // visit(item, i, pack), where pack is the thread's number `item` and starts at element i.
  template <class Visit>
  __device__ inline void each(const Visit& visit) {
    some<items>(0, visit);
  }
  // Visits `count` items from `first` on.
  template <int count, class Visit>
  __device__ inline void some(int first, const Visit& visit) {
#pragma unroll
    for (int k = 0; k < count; ++k) {
      if (const int i = at(first + k); i < width) visit(first + k, i, kept[first + k]);
    }
  }
  // Returns the sum over the row of a number, or of Moments, that each thread of the row has.
  template <class Value>
  __device__ inline Value total(Value mine) const {
    return sumOverRow(mine, lanes);
  }

  // Reads x, or x + residual, which is written to `sum`.
  __device__ inline void read(const T* x, const T* residual, T* sum) {
    // Reads from one address and constants: else each of these reads would hold an address of its own.
    const auto item = [&](const T* from, int k) { return loadOnce<T, vector>(from + start_ + k * step_); };
    each([&](int k, int, Pack<T, vector>& pack) { pack = item(x, k); });
    if (!residual) return;
    constexpr int batch = kReadsAtOnce<T, vector, items>;
#pragma unroll
    for (int first = 0; first < items; first += batch) {
      Pack<T, vector> more[batch];
#pragma unroll
      for (int k = 0; k < batch; ++k) {
        if (at(first + k) < width) more[k] = item(residual, first + k);
      }
#pragma unroll
      for (int k = 0; k < batch; ++k) {
        const int i = at(first + k);
        if (i >= width) continue;
        kept[first + k] = added<T, vector>(kept[first + k], more[k]);
        storePack<T, vector>(sum + i, kept[first + k]);
      }
    }
  }

 private:
  [[nodiscard]] __device__ inline int at(int item) const { return start_ + item * step_; }

  int step_;
  int start_;
};

// A part in shared memory, where element i of the row lies at i.
template <class T, int vector>
struct SharedPart {
  static constexpr int kItems = 0;  // any number
  T* kept;
  int lane;
  int lanes;
  int width;

  template <class Visit>
  __device__ inline void each(const Visit& visit) {
    for (int i = lane * vector; i < width; i += lanes * vector) visit(0, i, pack(i));
  }
  template <class Value>
  __device__ inline Value total(Value mine) const {
    return sumOverRow(mine, lanes);
  }

  __device__ inline void read(const T* x, const T* residual, T* sum) {
    request(x);
    if (residual) {
      add(residual, sum);
    } else {
      awaitRequested();
    }
  }

 private:
  static constexpr int kPackBytes = static_cast<int>(sizeof(T)) * vector;
  static constexpr bool kCopiesItself = kPackBytes >= 4;  // the copy engine moves 4, 8 or 16 bytes

  // Straight to shared memory, so that all of the row is on its way whatever registers there are. Nobody but this
  // thread reads what it copies: no barrier is needed, here or before the next row.
  __device__ inline void request(const T* x) {
    if constexpr (kCopiesItself) {
      for (int i = lane * vector; i < width; i += lanes * vector) {
        __pipeline_memcpy_async(kept + i, x + i, static_cast<size_t>(kPackBytes));
      }
      __pipeline_commit();
    } else {
      inBatches(x, [&](int i, const Pack<T, vector>& read) { pack(i) = read; });
    }
  }

  __device__ inline void awaitRequested() {
    if constexpr (kCopiesItself) {
      __pipeline_wait_prior(0);
      asm volatile("" ::: "memory");  // CUDA's header does not declare it: no read may move before the wait
    }
  }

  __device__ inline void add(const T* residual, T* sum) {
    inBatches(residual, [&](int i, const Pack<T, vector>& more) {
      awaitRequested();
      pack(i) = added<T, vector>(pack(i), more);
      storePack<T, vector>(sum + i, pack(i));
    });
  }

  // Reads a few packs, then hands each to use(i, pack).
  template <class Use>
  __device__ inline void inBatches(const T* from, const Use& use) {
    constexpr int batch = kReadsAtOnce<T, vector, 8>;
    const int step = lanes * vector;
    for (int first = lane * vector; first < width; first += batch * step) {
      Pack<T, vector> read[batch];
#pragma unroll
      for (int k = 0; k < batch; ++k) {
        if (const int i = first + k * step; i < width) read[k] = loadOnce<T, vector>(from + i);
      }
#pragma unroll
      for (int k = 0; k < batch; ++k) {
        if (const int i = first + k * step; i < width) use(i, read[k]);
      }
    }
  }

  __device__ inline Pack<T, vector>& pack(int i) { return *reinterpret_cast<Pack<T, vector>*>(kept + i); }
};

}  // namespace normlens::kernels::cuda
