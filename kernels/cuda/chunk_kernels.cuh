// The kernels of Split and Cluster, whose rows are cut into chunks; see row_kernels.cuh for what they have in common
// with the rest.
#pragma once

#include "kernels/cuda/cluster.cuh"
#include "kernels/cuda/row_kernels.cuh"

namespace normlens::kernels::cuda {

// A chunk of a row, by the number of the chunk among those of all rows.
struct Chunk {
  int64_t row;
  int64_t first;
  int width;

  __device__ inline Chunk(int64_t index, int64_t chunks, int64_t chunkWidth, int64_t rowWidth)
      : row(index / chunks), first((index % chunks) * chunkWidth) {
    width = static_cast<int>(rowWidth - first < chunkWidth ? rowWidth - first : chunkWidth);
  }
};

// The first kernel of Split makes the summary of each chunk, and x + residual.
template <class T, int vector, int items>
__global__ void __launch_bounds__(kThreadsOfChunks, 1)
    summarizeChunks(NormRows rows, int64_t count, int64_t chunks, int64_t chunkWidth,
                    Summary<typename SumOf<T>::Type>* summaries) {
  for (int64_t index = blockIdx.x; index < count * chunks; index += gridDim.x) {
    const Chunk chunk(index, chunks, chunkWidth, rows.width);
    const RowPointers<T> row(rows, chunk.row, chunk.first);
    RegisterPart<T, vector, items> part(static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x), chunk.width);
    part.read(row.x, row.residual, row.sum);
    const auto share = shareOf<typename SumOf<T>::Type>(chunk.width);
    const auto summary = summarize<T, vector>(part, rows.kind, share);
    if (threadIdx.x == 0) summaries[index] = summary;
    if (index + gridDim.x < count * chunks) sumsAreRead(part.lanes);
  }
}

// The summary of a row about `shift` from those of its chunks: sum((x - s) + a)^2 = sum(x - s)^2 + 2 a sum(x - s) + n
// a^2. The lanes of a warp share the chunks; each warp does all of them, so none waits for another.
template <class Sum>
__device__ inline Summary<Sum> combined(const Summary<Sum>* of, int64_t chunks, int64_t chunkWidth, int64_t rowWidth,
                                        Sum shift) {
  Moments<Sum> row;
  for (int64_t c = static_cast<int>(threadIdx.x) % kWarp; c < chunks; c += kWarp) {
    const Moments<Sum> chunk = of[c].moments;
    const Sum apart = of[c].shift - shift;
    const Sum width = static_cast<Sum>(c + 1 < chunks ? chunkWidth : rowWidth - c * chunkWidth);
    row.sum += chunk.sum;
    row.squares += chunk.squares;
    if (apart != 0) {  // zero times an infinite sum would be NaN
      row.sum += width * apart;
      row.squares += apart * (2 * chunk.sum + width * apart);
    }
  }
  return {shift, sumOverWarp(row, kWarp)};
}

// Second kernel of Split: each block puts its row's summary together and writes its chunk.
template <class T, class C, int vector, int items>
__global__ void __launch_bounds__(kThreadsOfChunks, 1)
    writeChunks(NormRows rows, const C* __restrict__ weight, const C* __restrict__ bias, int64_t count, int64_t chunks,
                int64_t chunkWidth, const Summary<typename SumOf<T>::Type>* summaries) {
  using Sum = typename SumOf<T>::Type;
  for (int64_t index = blockIdx.x; index < count * chunks; index += gridDim.x) {
    const Chunk chunk(index, chunks, chunkWidth, rows.width);
    const RowPointers<T> row(rows, chunk.row, chunk.first);
    RegisterPart<T, vector, items> part(static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x), chunk.width);
    part.read(row.residual ? row.sum : row.x, nullptr, nullptr);
    RowConstants<C, vector, items> constants(weight ? weight + chunk.first : nullptr,
                                             bias ? bias + chunk.first : nullptr);
    constants.readEarly(part);
    const Summary<Sum>* ofRow = summaries + chunk.row * chunks;
    Summary<Sum> summary = combined(ofRow, chunks, chunkWidth, rows.width, ofRow[0].shift);
    const Sum share = shareOf<Sum>(rows.width);
    const Sum mean = summary.shift + summary.moments.sum * share;
    if (subtractsMean(rows.kind) && isfinite(mean)) {
      summary = combined(ofRow, chunks, chunkWidth, rows.width, mean);
    }
    const auto scale = scaleOf(rows, summary, share);
    writePart<T, vector>(part, scale, constants, row.y);
  }
}

// The threads of all blocks of a cluster share the row.
template <class T, int vector, int items>
struct ClusterPart : RegisterPart<T, vector, items> {
  using RegisterPart<T, vector, items>::RegisterPart;
  template <class Value>
  __device__ inline Value total(Value mine) const {
    return sumOverCluster(mine);
  }
};

// The only kernel of Cluster.
template <class T, class C, int vector, int items>
__global__ void __launch_bounds__(kThreadsOfChunks, 1)
    normalizeInCluster(NormRows rows, const C* __restrict__ weight, const C* __restrict__ bias, int64_t count,
                       int64_t chunkWidth) {
  using Sum = typename SumOf<T>::Type;
  const int64_t chunks = blocksOfCluster();
  for (int64_t r = blockIdx.x / chunks; r < count; r += gridDim.x / chunks) {
    const Chunk chunk(r * chunks + blockOfCluster(), chunks, chunkWidth, rows.width);
    const RowPointers<T> row(rows, chunk.row, chunk.first);
    ClusterPart<T, vector, items> part(static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x), chunk.width);
    part.read(row.x, row.residual, row.sum);
    RowConstants<C, vector, items> constants(weight ? weight + chunk.first : nullptr,
                                             bias ? bias + chunk.first : nullptr);
    constants.readEarly(part);
    const Sum share = shareOf<Sum>(rows.width);
    const auto scale = scaleOf(rows, summarize<T, vector>(part, rows.kind, share), share);
    writePart<T, vector>(part, scale, constants, row.y);
    waitForCluster();
  }
}

}  // namespace normlens::kernels::cuda
