#include "kernels/cuda/start_kernel.cuh"

namespace normlens::kernels::cuda {

void normalizeFloat16(const NormRows& rows, int64_t count, const LaunchConfig& config, void* workspace, void* stream) {
  rows.constants == ConstantType::OfRows ? launchRows<Half, Half>(rows, count, config, workspace, stream)
                                         : launchRows<Half, float>(rows, count, config, workspace, stream);
}

}  // namespace normlens::kernels::cuda
