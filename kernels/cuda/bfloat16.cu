#include "kernels/cuda/start_kernel.cuh"

namespace normlens::kernels::cuda {

void normalizeBFloat16(const NormRows& rows, int64_t count, const LaunchConfig& config, void* workspace, void* stream) {
  rows.constants == ConstantType::OfRows ? launchRows<BFloat, BFloat>(rows, count, config, workspace, stream)
                                         : launchRows<BFloat, float>(rows, count, config, workspace, stream);
}

}  // namespace normlens::kernels::cuda
