// From a LaunchConfig to the kernel compiled for it.
#pragma once

#include <utility>

#include "kernels/cuda/row_kernels.cuh"

namespace normlens::kernels::cuda {

// What Split keeps between its kernels, in bytes.
inline int64_t workspaceBytes(Scalar scalar, int64_t rows, const LaunchConfig& config) {
  if (config.path != LaunchConfig::Path::Split) return 0;
  const size_t each = scalar == Scalar::Float64 ? sizeof(Summary<double>) : sizeof(Summary<float>);
  return rows * config.chunks * static_cast<int64_t>(each);
}

// One launch: start(kernel, config.blocks, config.threads(), config.sharedBytes, arguments...) starts a kernel behind
// those that were started before it.
template <class T, class C, class Start>
class RowLaunch {
 public:
  RowLaunch(const NormRows& rows, int64_t count, const LaunchConfig& config, void* workspace, const Start& start)
      : rows_(rows), count_(count), config_(config), workspace_(workspace), start_(start) {}

  void operator()() const {
    if (config_.vector > 1) {
      withItems<16 / sizeof(T), 1, 2, 4, 8>();
    } else if constexpr (sizeof(T) == 8) {
      withItems<1, 2, 4, 8>();
    } else {
      withItems<1, 2, 4, 8, 16>();
    }
  }

 private:
  template <int vector, int... choices>
  void withItems() const {
    if (config_.path == LaunchConfig::Path::Shared) {
      start_(&normalizeInShared<T, C, vector>, config_, rows_, count_);
    } else {
      (void)((config_.items == choices ? (withKernel<vector, choices>(), true) : false) || ...);
    }
  }

  template <int vector, int items>
  void withKernel() const {
    if (config_.path == LaunchConfig::Path::Registers) return withRegisters<vector, items>();
    auto* summaries = static_cast<Summary<typename SumOf<T>::Type>*>(workspace_);
    start_(&summarizeChunks<T, vector, items>, config_, rows_, count_, config_.chunks, config_.chunkWidth, summaries);
    start_(&writeChunks<T, C, vector, items>, config_, rows_, count_, config_.chunks, config_.chunkWidth,
           static_cast<const Summary<typename SumOf<T>::Type>*>(summaries));
  }

  template <int vector, int items>
  void withRegisters() const {
    if (config_.threads() <= kThreadsOfNarrowRows) {
      start_(&normalizeInRegisters<T, C, vector, items, kThreadsOfNarrowRows>, config_, rows_, count_, config_.lanes);
    } else {
      start_(&normalizeInRegisters<T, C, vector, items, kThreadsOfWideRows>, config_, rows_, count_, config_.lanes);
    }
  }

  const NormRows& rows_;
  int64_t count_;
  const LaunchConfig& config_;
  void* workspace_;
  const Start& start_;
};

}  // namespace normlens::kernels::cuda
