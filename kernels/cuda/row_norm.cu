#include "kernels/cuda/row_norm.h"

#include <utility>

#include "kernels/cuda/remembered.h"
#include "kernels/cuda/start_kernel.cuh"

namespace normlens::kernels::cuda {
namespace {

DeviceLimits askLimits(int device) {
  const auto ask = [device](cudaDeviceAttr attribute) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, attribute, device), "asking for the device's sizes");
    return value;
  };
  constexpr int64_t kOwnShared = 1024;  // sumOverRow keeps as many, and CUDA reserves some for each block.
  constexpr int kPortableCluster = 8;   // that every GPU with clusters has
  return {.multiprocessors = ask(cudaDevAttrMultiProcessorCount),
          .sharedBytes = ask(cudaDevAttrMaxSharedMemoryPerBlockOptin) - kOwnShared,
          .maxBlocks = ask(cudaDevAttrMaxGridDimX),
          .clusterBlocks = ask(cudaDevAttrClusterLaunch) != 0 ? kPortableCluster : 1};
}

}  // namespace

CurrentDevice::CurrentDevice(int device) : device_(device) {
  check(cudaGetDevice(&previous_), "asking for the current device");
  if (previous_ != device_) check(cudaSetDevice(device_), "choosing a device");
}

CurrentDevice::~CurrentDevice() {
  if (previous_ != device_) cudaSetDevice(previous_);
}

DeviceLimits limitsOf(int device) {
  static Remembered<int, DeviceLimits> limits;
  return limits.of(device, [device] { return askLimits(device); });
}

void allowShared(const void* kernel) {
  static Remembered<std::pair<const void*, int>, bool> allowed;
  int device = 0;
  check(cudaGetDevice(&device), "asking for the current device");
  allowed.of({kernel, device}, [&] {
    const int bytes = static_cast<int>(limitsOf(device).sharedBytes);
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "asking for shared memory");
    return true;
  });
}

int64_t workspaceBytesOf(Scalar scalar, int64_t count, const LaunchConfig& config) {
  return workspaceBytes(scalar, count, config);
}

void normalizeRows(Scalar scalar, const NormRows& rows, int64_t count, const LaunchConfig& config, void* workspace,
                   void* stream) {
  switch (scalar) {
    case Scalar::Float32:
      return normalizeFloat32(rows, count, config, workspace, stream);
    case Scalar::Float64:
      return normalizeFloat64(rows, count, config, workspace, stream);
    case Scalar::Float16:
      return normalizeFloat16(rows, count, config, workspace, stream);
    case Scalar::BFloat16:
      return normalizeBFloat16(rows, count, config, workspace, stream);
  }
}

}  // namespace normlens::kernels::cuda
