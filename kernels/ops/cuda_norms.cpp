// The ops on NVIDIA GPUs. Kernels are queued on torch's current stream of the device of x.
#include <dlfcn.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>

#include <array>
#include <optional>
#include <stdexcept>

#include "kernels/cuda/row_norm.h"
#include "kernels/ops/norm_ops.h"

namespace normlens::kernels {
namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

// Weight and bias as the kernels read them: contiguous, both in the type of x, or both in that of the sums. Keeps alive
// what it points to; torch reuses the memory of a conversion only for what is queued behind the kernel.
class Constants {
 public:
  Constants(const NormCall& call, Scalar scalar) : given_{call.weight, call.bias} {
    const ScalarType ofRows = call.x.scalar_type();
    const bool allOfRows = areAll(ofRows);
    type_ = allOfRows ? cuda::ConstantType::OfRows : cuda::ConstantType::OfSums;
    for (auto& constant : given_) {
      if (!constant) continue;
      if (!allOfRows && constant->scalar_type() != sumType(scalar)) {
        constant = torch::stable::to(*constant, sumType(scalar));
      }
      constant = torch::stable::contiguous(*constant);
    }
  }

  [[nodiscard]] const void* weight() const { return dataOf(given_[0]); }
  [[nodiscard]] const void* bias() const { return dataOf(given_[1]); }
  [[nodiscard]] cuda::ConstantType type() const { return type_; }

 private:
  [[nodiscard]] bool areAll(ScalarType type) const {
    for (const auto& constant : given_) {
      if (constant && constant->scalar_type() != type) return false;
    }
    return true;
  }
  static const void* dataOf(const std::optional<Tensor>& tensor) { return tensor ? tensor->const_data_ptr() : nullptr; }

  std::array<std::optional<Tensor>, 2> given_;
  cuda::ConstantType type_;
};

// The function that tells the stream lies in libtorch_cuda.so, which this library does not link: it must load beside a
// torch that has none. A tensor on a GPU means that torch has loaded it.
void* currentStream(int32_t device) {
  using GetStream = int32_t (*)(int32_t, void**);
  static const auto getStream = [] {
    void* torchCuda = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
    return torchCuda ? reinterpret_cast<GetStream>(dlsym(torchCuda, "aoti_torch_get_current_cuda_stream")) : nullptr;
  }();
  void* stream = nullptr;
  if (getStream == nullptr || getStream(device, &stream) != TORCH_SUCCESS) {
    throw std::runtime_error("normlens: torch does not tell its current CUDA stream");
  }
  return stream;
}

void runRows(const NormCall& call, Scalar scalar, NormRows rows, int64_t count) {
  STD_TORCH_CHECK(call.x.is_cuda(), "normlens::", call.op, ": all tensors must be on one device");
  const int32_t device = call.x.get_device_index();
  const cuda::CurrentDevice current(device);
  const Constants constants(call, scalar);
  rows.weight = constants.weight();
  rows.bias = constants.bias();
  const cuda::RowShape shape{.elementBytes = cuda::elementBytes(scalar),
                             .rows = count,
                             .width = rows.width,
                             .vectors = cuda::allowsVectors(scalar, rows, constants.type())};
  const cuda::LaunchConfig config = cuda::chooseLaunch(shape, cuda::limitsOf(device));
  std::optional<Tensor> workspace;
  if (const int64_t bytes = cuda::workspaceBytesOf(scalar, count, config)) {
    workspace = torch::stable::new_empty(call.x, {bytes}, ScalarType::Byte);
  }
  cuda::normalizeRows(scalar, rows, count, constants.type(), config,
                      workspace ? workspace->mutable_data_ptr() : nullptr, currentStream(device));
}

NormOutputs runOnCuda(const NormCall& call) { return runNorm(call, &runRows); }

}  // namespace
}  // namespace normlens::kernels

STABLE_TORCH_LIBRARY_IMPL(normlens, CUDA, library) {
  normlens::kernels::registerNorms<&normlens::kernels::runOnCuda>(library);
}
