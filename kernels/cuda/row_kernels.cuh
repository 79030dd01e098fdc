// The kernels: see launch_config.h for the three of them, kernels/norm_rows.h for what they compute.
//
// T is the type of the rows, C that of weight and bias; both pointers of NormRows are read as such. `vector` elements
// are read at once: where it is above one, all rows and constants are aligned to that and the width is a multiple of
// it. Compiled by nvcc, and by the tests, which run the same code on the CPU.
#pragma once

#include "kernels/cuda/row_constants.cuh"
#include "kernels/cuda/row_part.cuh"
#include "kernels/cuda/row_sum.cuh"
#include "kernels/norm_rows.h"

namespace normlens::kernels::cuda {

__device__ inline bool subtractsMean(NormKind kind) { return kind == NormKind::Layer || kind == NormKind::Center; }

// Returns the sum of of(x) over the part's elements x.
template <class T, int vector, class Part, class Of>
__device__ inline auto sumOf(Part& part, const Of& of) {
  typename SumOf<T>::Type sum = 0;
  part.each([&](int, int, const Pack<T, vector>& kept) {
    const auto x = unpacked<T, vector>(kept);
#pragma unroll
    for (int k = 0; k < vector; ++k) sum += of(x.at[k]);
  });
  return sum;
}

template <class T, int vector, class Part>
__device__ inline auto momentsOf(Part& part, typename SumOf<T>::Type shift) {
  Moments<typename SumOf<T>::Type> moments;
  part.each([&](int, int, const Pack<T, vector>& kept) {
    const auto x = unpacked<T, vector>(kept);
#pragma unroll
    for (int k = 0; k < vector; ++k) {
      const auto v = x.at[k] - shift;
      moments.sum += v;
      moments.squares += v * v;
    }
  });
  return moments;
}

// The summary of a row, or of a chunk of one, holds its moments about `shift`. For Rms, the sum is not computed.
template <class Sum>
struct Summary {
  Sum shift = 0;
  Moments<Sum> moments;
};

// Returns the share of one element in a mean: one division a row, instead of one for each of its means.
template <class Sum>
__device__ inline Sum shareOf(int64_t width) {
  return 1 / static_cast<Sum>(width);
}

// The row waits in registers or shared memory, so its mean costs no second reading: first the mean, as well as a sum of
// large numbers gives it, then what x - mean shows to be missing, with the squares. share: see scaleOf.
template <class T, int vector, class Part>
__device__ inline auto summarize(Part& part, NormKind kind, typename SumOf<T>::Type share) {
  using Sum = typename SumOf<T>::Type;
  Summary<Sum> summary;
  if (kind == NormKind::Rms) {
    summary.moments.squares = part.total(sumOf<T, vector>(part, [](Sum x) { return x * x; }));
    return summary;
  }
  if (subtractsMean(kind)) {
    const Sum mean = part.total(sumOf<T, vector>(part, [](Sum x) { return x; })) * share;
    summary.shift = isfinite(mean) ? mean : Sum{0};  // infinities meet finite numbers as in torch's sums
  }
  summary.moments = part.total(momentsOf<T, vector>(part, summary.shift));
  return summary;
}

// y = (x - shift) * inverse + offset
template <class Sum>
struct RowScale {
  Sum shift = 0;
  Sum inverse = 1;
  Sum offset = 0;  // The mean shift's rest, normalized and negated.
};

// An ulp or two off, in a few instructions; in double a correct root costs little beside the row.
__device__ inline float inverseRoot(float x) { return rsqrtf(x); }
__device__ inline double inverseRoot(double x) { return 1 / sqrt(x); }

// share: see shareOf
template <class Sum>
__device__ inline RowScale<Sum> scaleOf(const NormRows& rows, const Summary<Sum>& row, Sum share) {
  const Sum eps = static_cast<Sum>(rows.eps);
  const Moments<Sum>& of = row.moments;
  RowScale<Sum> scale;
  if (rows.kind == NormKind::Rms) {
    scale.inverse = inverseRoot(of.squares * share + eps);
  } else {
    scale.shift = row.shift;
    const Sum rest = of.sum * share;
    const Sum variance = of.squares * share - rest * rest;
    if (rows.kind == NormKind::Layer) scale.inverse = inverseRoot((variance < 0 ? Sum{0} : variance) + eps);
    scale.offset = -rest * scale.inverse;
  }
  return scale;
}

// y: of the element that the part, and its constants, start with.
template <class T, int vector, class Part, class Constants>
__device__ inline void writePart(Part& part, const RowScale<typename SumOf<T>::Type>& scale, Constants& constants,
                                 T* y) {
  const auto write = [&](int item, int i, const Pack<T, vector>& kept) {
    auto v = unpacked<T, vector>(kept);
#pragma unroll
    for (int k = 0; k < vector; ++k) v.at[k] = (v.at[k] - scale.shift) * scale.inverse + scale.offset;
    constants.apply(item, i, v);
    storePack<T, vector>(y + i, packed<T, vector>(v));
  };
  if constexpr (Part::kItems == 0) {
    part.each(write);
  } else {
    constexpr int atOnce = Constants::kAtOnce;
#pragma unroll
    for (int first = 0; first < Part::kItems; first += atOnce) {
      constants.readLate(part, first);
      part.template some<atOnce>(first, write);
    }
  }
}

// Returns the memory of row r, from element `first` on.
template <class T>
struct RowPointers {
  const T* x;
  const T* residual;
  T* sum;
  T* y;

  __device__ inline RowPointers(const NormRows& rows, int64_t r, int64_t first = 0)
      : x(static_cast<const T*>(rows.input) + r * rows.inputStride + first),
        residual(rows.residual ? static_cast<const T*>(rows.residual) + r * rows.residualStride + first : nullptr),
        sum(rows.residual ? static_cast<T*>(rows.sum) + r * rows.width + first : nullptr),
        y(static_cast<T*>(rows.output) + r * rows.width + first) {}
};

// Every thread of the row's group comes here; `part` is empty (width 0) where the group has no row left.
template <class T, class C, int vector, int registers, class Part>
__device__ inline void normalizeRow(const NormRows& rows, const C* __restrict__ weight, const C* __restrict__ bias,
                                    int64_t r, Part& part) {
  const bool live = part.width > 0;
  const RowPointers<T> row(rows, live ? r : 0);
  part.read(row.x, row.residual, row.sum);
  RowConstants<C, vector, Part::kItems, registers> constants(weight, bias);
  constants.readEarly(part);
  const auto share = shareOf<typename SumOf<T>::Type>(rows.width);
  const auto scale = scaleOf(rows, summarize<T, vector>(part, rows.kind, share), share);
  writePart<T, vector>(part, scale, constants, row.y);
}

// A kernel is compiled for any norm (AnyNorm) or for one kind of it, with or without a residual (OneNorm): kind and
// residual are then known at compile time. Everything else is read from NormRows.
struct AnyNorm {
  static constexpr bool kAdds = true;
  __device__ static inline NormRows of(const NormRows& rows) { return rows; }
};
template <NormKind kind, bool hasResidual>
struct OneNorm {
  static constexpr bool kAdds = hasResidual;
  __device__ static inline NormRows of(NormRows rows) {
    rows.kind = kind;
    if constexpr (!hasResidual) rows.residual = nullptr;
    return rows;
  }
};

// Blocks that a multiprocessor is to hold at once, which limits the registers of a thread to 65536 / (threads *
// blocks): while one block sums up, others read and write. The most that a thread can hold leaves room for fewer, all
// the more beside a residual, which is as many bytes on their way as a second block would have.
template <class Norm, int vector, int items, int maxThreads>
inline constexpr int kBlocksAtOnce = [] {
  constexpr int halves = kThreadsOfWideRows / maxThreads;
  constexpr bool wide = items >= (vector > 1 ? 8 : 16);
  if (!wide) return 2 * halves;
  if (Norm::kAdds) return halves;
  return halves == 1 ? 2 : 3;
}();

// The registers a thread may spend on a row and its constants, of those that so many blocks leave it: with more, or
// with any of 64 beside a residual, ptxas would put some of them into memory.
template <class Norm, int vector, int items, int maxThreads>
inline constexpr int kRegistersOfRow = [] {
  constexpr int ofThread = 65536 / (maxThreads * kBlocksAtOnce<Norm, vector, items, maxThreads>);
  if (ofThread > 64) return 48;
  return Norm::kAdds ? 0 : 32;
}();

template <class T, class C, class Norm, int vector, int items, int maxThreads>
__global__ void __launch_bounds__(maxThreads, (kBlocksAtOnce<Norm, vector, items, maxThreads>))
    normalizeInRegisters(NormRows given, const C* __restrict__ weight, const C* __restrict__ bias, int64_t count,
                         int lanes) {
  const NormRows rows = Norm::of(given);
  // Lanes of several rows in a warp are a power of two.
  const bool oneRow = lanes > kWarp;
  const int log = oneRow ? 0 : __popc(static_cast<unsigned>(lanes - 1));
  const int thread = static_cast<int>(threadIdx.x);
  const int rowsPerBlock = oneRow ? 1 : static_cast<int>(blockDim.x) >> log;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * rowsPerBlock;
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * rowsPerBlock; first < count; first += stride) {
    const int64_t r = first + (oneRow ? 0 : thread >> log);
    RegisterPart<T, vector, items> part(oneRow ? thread : thread & (lanes - 1), lanes,
                                        r < count ? static_cast<int>(rows.width) : 0);
    normalizeRow<T, C, vector, kRegistersOfRow<Norm, vector, items, maxThreads>>(rows, weight, bias, r, part);
    if (first + stride < count) sumsAreRead(lanes);
  }
}

// The same for a few blocks that go on with many narrow rows, see LaunchConfig::persistent. A thread holds two rows'
// packs, weight and bias: two or three such blocks a multiprocessor.
template <class T, class C, class Norm, int vector, int items>
__global__ void __launch_bounds__(kThreadsOfNarrowRows, (items > 2 ? 2 : 3))
    normalizePersistently(NormRows given, const C* __restrict__ weight, const C* __restrict__ bias, int64_t count,
                          int lanes) {
  using Part = RegisterPart<T, vector, items>;
  const NormRows rows = Norm::of(given);
  const int log = __popc(static_cast<unsigned>(lanes - 1));
  const int thread = static_cast<int>(threadIdx.x), lane = thread & (lanes - 1);
  const int64_t rowsPerBlock = blockDim.x >> log, stride = gridDim.x * rowsPerBlock;
  const auto share = shareOf<typename SumOf<T>::Type>(rows.width);
  const auto readRow = [&](int64_t r) {
    Part part(lane, lanes, r < count ? static_cast<int>(rows.width) : 0);
    const RowPointers<T> row(rows, r < count ? r : 0);
    part.read(row.x, row.residual, row.sum);
    return part;
  };
  Part whole(lane, lanes, static_cast<int>(rows.width));
  KeptConstants<C, vector, items> constants(weight, bias);
  constants.readOnce(whole);
  // All threads of a warp go the same number of rounds: they meet in sums.
  int64_t r = static_cast<int64_t>(blockIdx.x) * rowsPerBlock + (thread >> log);
  Part part = readRow(r);
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * rowsPerBlock; first < count; first += stride, r += stride) {
    Part next = readRow(first + stride < count ? r + stride : count);
    const auto scale = scaleOf(rows, summarize<T, vector>(part, rows.kind, share), share);
    const RowPointers<T> row(rows, r < count ? r : 0);
    writePart<T, vector>(part, scale, constants, row.y);
    part = next;
  }
}

template <class T, class C, class Norm, int vector>
__global__ void __launch_bounds__(kMaxThreads, 1)
    normalizeInShared(NormRows given, const C* __restrict__ weight, const C* __restrict__ bias, int64_t count) {
  const NormRows rows = Norm::of(given);
  for (int64_t r = blockIdx.x; r < count; r += gridDim.x) {
    SharedPart<T, vector> part{reinterpret_cast<T*>(dynamicShared()), static_cast<int>(threadIdx.x),
                               static_cast<int>(blockDim.x), static_cast<int>(rows.width)};
    normalizeRow<T, C, vector, 0>(rows, weight, bias, r, part);
    if (r + gridDim.x < count) sumsAreRead(part.lanes);
  }
}

}  // namespace normlens::kernels::cuda
