// The ops on NVIDIA GPUs. Kernels are queued on torch's current stream of the device of x.
#include <dlfcn.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>

#include <optional>
#include <stdexcept>

#include "kernels/cuda/launch_tuning.h"
#include "kernels/cuda/row_norm.h"
#include "kernels/ops/norm_constants.h"
#include "kernels/ops/norm_ops.h"

namespace normlens::kernels {
namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

// The function that returns the stream lies in libtorch_cuda.so, which this library does not link: it must load beside
// a torch that has none. A tensor on a GPU means that torch has loaded it.
void* currentStream(int32_t device) {
  using GetStream = int32_t (*)(int32_t, void**);
  static const auto getStream = [] {
    void* torchCuda = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
    return torchCuda ? reinterpret_cast<GetStream>(dlsym(torchCuda, "aoti_torch_get_current_cuda_stream")) : nullptr;
  }();
  void* stream = nullptr;
  if (getStream == nullptr || getStream(device, &stream) != TORCH_SUCCESS) {
    throw std::runtime_error("normlens: torch does not report its current CUDA stream");
  }
  return stream;
}

void runRows(const NormCall& call, Scalar scalar, NormRows rows, int64_t count) {
  require(call, call.x.facts().deviceType == aoti_torch_device_type_cuda(), "all tensors must be on one device");
  const int32_t device = call.x.facts().deviceIndex;
  const cuda::CurrentDevice current(device);
  const NormConstants constants(call, scalar);
  constants.fill(rows);
  const cuda::RowShape shape{.elementBytes = cuda::elementBytes(scalar),
                             .rows = count,
                             .width = rows.width,
                             .vectors = cuda::allowsVectors(scalar, rows)};
  const cuda::LaunchConfig config = cuda::chooseLaunch(shape, cuda::limitsOf(device), cuda::tuningOfProcess());
  std::optional<Tensor> workspace;
  if (const int64_t bytes = cuda::workspaceBytesOf(scalar, count, config)) {
    workspace = torch::stable::new_empty(call.x.shared(), {bytes}, ScalarType::Byte);
  }
  cuda::normalizeRows(scalar, rows, count, config, workspace ? workspace->mutable_data_ptr() : nullptr,
                      currentStream(device));
}

NormOutputs runOnCuda(const NormCall& call) { return runNorm(call, &runRows); }

}  // namespace
}  // namespace normlens::kernels

STABLE_TORCH_LIBRARY_IMPL(normlens, CUDA, library) {
  normlens::kernels::registerNorms<&normlens::kernels::runOnCuda>(library);
}
