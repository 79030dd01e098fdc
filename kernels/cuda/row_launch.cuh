// Starts the kernel that was compiled for a LaunchConfig.
#pragma once

#include <utility>

#include "kernels/cuda/chunk_kernels.cuh"

namespace normlens::kernels::cuda {

// Returns the bytes that Split keeps between its two kernels.
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
  static constexpr int kInShared = 0;  // for the items of Shared, which are any number

  template <int vector, int... choices>
  void withItems() const {
    if (config_.path == LaunchConfig::Path::Shared) {
      withKind<vector, kInShared>();
    } else {
      (void)((config_.items == choices ? (withPath<vector, choices>(), true) : false) || ...);
    }
  }

  template <int vector, int items>
  void withPath() const {
    if (config_.path == LaunchConfig::Path::Registers) return withKind<vector, items>();
    if (config_.path == LaunchConfig::Path::Cluster) {
      if constexpr (vector > 1) {
        start_(&normalizeInCluster<T, C, vector, items>, config_, rows_, weight(), bias(), count_, config_.chunkWidth);
      }
      return;
    }
    auto* summaries = static_cast<Summary<typename SumOf<T>::Type>*>(workspace_);
    start_(&summarizeChunks<T, vector, items>, config_, rows_, count_, config_.chunks, config_.chunkWidth, summaries);
    start_(&writeChunks<T, C, vector, items>, config_, rows_, weight(), bias(), count_, config_.chunks,
           config_.chunkWidth, static_cast<const Summary<typename SumOf<T>::Type>*>(summaries));
  }

  // Single elements are slower in any case: one kernel does for all kinds.
  template <int vector, int items>
  void withKind() const {
    if constexpr (vector == 1) {
      inOneKernel<AnyNorm, vector, items>();
    } else {
      switch (rows_.kind) {
        case NormKind::Rms:
          return withResidual<NormKind::Rms, vector, items>();
        case NormKind::Layer:
          return withResidual<NormKind::Layer, vector, items>();
        case NormKind::Center:
          return withResidual<NormKind::Center, vector, items>();
      }
    }
  }

  template <NormKind kind, int vector, int items>
  void withResidual() const {
    if (rows_.residual) {
      inOneKernel<OneNorm<kind, true>, vector, items>();
    } else {
      inOneKernel<OneNorm<kind, false>, vector, items>();
    }
  }

  static constexpr bool canPersist(int vector, int items) {
    return vector > 1 && (items == kPersistentItems[0] || items == kPersistentItems[1]);
  }

  template <class Norm, int vector, int items>
  void inOneKernel() const {
    if constexpr (canPersist(vector, items)) {
      if (config_.persistent) {
        return start_(&normalizePersistently<T, C, Norm, vector, items>, config_, rows_, weight(), bias(), count_,
                      config_.lanes);
      }
    }
    if constexpr (items == kInShared) {
      start_(&normalizeInShared<T, C, Norm, vector>, config_, rows_, weight(), bias(), count_);
    } else if (config_.threads() <= kThreadsOfNarrowRows) {
      start_(&normalizeInRegisters<T, C, Norm, vector, items, kThreadsOfNarrowRows>, config_, rows_, weight(), bias(),
             count_, config_.lanes);
    } else {
      start_(&normalizeInRegisters<T, C, Norm, vector, items, kThreadsOfWideRows>, config_, rows_, weight(), bias(),
             count_, config_.lanes);
    }
  }

  const C* weight() const { return static_cast<const C*>(rows_.weight); }
  const C* bias() const { return static_cast<const C*>(rows_.bias); }

  const NormRows& rows_;
  int64_t count_;
  const LaunchConfig& config_;
  void* workspace_;
  const Start& start_;
};

}  // namespace normlens::kernels::cuda
