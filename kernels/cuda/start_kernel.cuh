// Queues the kernels of row_launch.cuh on a stream.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

// Returns the shared memory that a launch requests, under the name that the kernels use.
namespace normlens::kernels::cuda {
__device__ inline unsigned char* dynamicShared() {
  extern __shared__ __align__(16) unsigned char memory[];
  return memory;
}
}  // namespace normlens::kernels::cuda

#include "kernels/cuda/row_launch.cuh"
#include "kernels/cuda/row_norm.h"

namespace normlens::kernels::cuda {

inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    throw std::runtime_error(std::string("normlens: ") + what + " failed: " + cudaGetErrorString(status));
  }
}

// Lets launches of a kernel on the current device take all of the shared memory that limitsOf reports.
void allowShared(const void* kernel);

class StartKernel {
 public:
  explicit StartKernel(void* stream) : stream_(static_cast<cudaStream_t>(stream)) {}

  template <class... Parameters, class... Arguments>
  void operator()(void (*kernel)(Parameters...), const LaunchConfig& config, Arguments... arguments) const {
    if (config.asksForShared()) allowShared(reinterpret_cast<const void*>(kernel));
    if (config.path == LaunchConfig::Path::Cluster) return inClusters(kernel, config, arguments...);
    kernel<<<static_cast<unsigned>(config.blocks), static_cast<unsigned>(config.threads()),
             static_cast<size_t>(config.sharedBytes), stream_>>>(arguments...);
    check(cudaGetLastError(), "starting a kernel");
  }

 private:
  template <class... Parameters, class... Arguments>
  void inClusters(void (*kernel)(Parameters...), const LaunchConfig& config, Arguments... arguments) const {
    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {static_cast<unsigned>(config.chunks), 1, 1};
    cudaLaunchConfig_t launch{};
    launch.gridDim = static_cast<unsigned>(config.blocks);
    launch.blockDim = static_cast<unsigned>(config.threads());
    launch.stream = stream_;
    launch.attrs = &cluster;
    launch.numAttrs = 1;
    check(cudaLaunchKernelEx(&launch, kernel, arguments...), "starting a kernel of clusters");
  }

  cudaStream_t stream_;
};

// One function for each type of rows, in a file of its own: they compile side by side.
void normalizeFloat32(const NormRows& rows, int64_t count, const LaunchConfig& config, void* workspace, void* stream);
void normalizeFloat64(const NormRows& rows, int64_t count, const LaunchConfig& config, void* workspace, void* stream);
void normalizeFloat16(const NormRows& rows, int64_t count, const LaunchConfig& config, void* workspace, void* stream);
void normalizeBFloat16(const NormRows& rows, int64_t count, const LaunchConfig& config, void* workspace, void* stream);

template <class T, class C>
void launchRows(const NormRows& rows, int64_t count, const LaunchConfig& config, void* workspace, void* stream) {
  const StartKernel start(stream);
  RowLaunch<T, C, StartKernel>(rows, count, config, workspace, start)();
}

}  // namespace normlens::kernels::cuda
