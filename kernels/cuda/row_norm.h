// The norms of kernels/norm_rows.h on an NVIDIA GPU. Torch-free; no header of CUDA is needed to include this.
//
// All memory is the device's. Kernels are queued on a stream and not waited for. Thread: any.
// Errors: std::runtime_error with CUDA's message, when a kernel cannot be queued.
#pragma once

#include "kernels/cuda/alignment.h"
#include "kernels/cuda/launch_config.h"
#include "kernels/norm_rows.h"

namespace normlens::kernels::cuda {

// Makes a device the calling thread's current one until the end of the scope.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device);
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int device_;
  int previous_ = 0;
};

DeviceLimits limitsOf(int device);  // queried once

// Bytes of device memory that must last until both kernels of Split are done; 0 for the other paths.
int64_t workspaceBytesOf(Scalar scalar, int64_t count, const LaunchConfig& config);

// Normalises rows [0, count) on the current device. stream: a cudaStream_t of that device.
void normalizeRows(Scalar scalar, const NormRows& rows, int64_t count, const LaunchConfig& config, void* workspace,
                   void* stream);

}  // namespace normlens::kernels::cuda
