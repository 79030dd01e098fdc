#include "kernels/cuda/start_kernel.cuh"

namespace normlens::kernels::cuda {

void normalizeFloat32(const NormRows& rows, int64_t count, const LaunchConfig& config, void* workspace, void* stream) {
  launchRows<float, float>(rows, count, config, workspace, stream);
}

}  // namespace normlens::kernels::cuda
