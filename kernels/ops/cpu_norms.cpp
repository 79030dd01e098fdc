// The ops on the CPU.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <optional>

#include "kernels/cpu/row_norm.h"
#include "kernels/ops/norm_ops.h"

namespace normlens::kernels {
namespace {

using torch::stable::Tensor;

// A weight or bias as the kernels read it: contiguous, in the type of the sums. Keeps alive what it points to.
class Constants {
 public:
  Constants(const std::optional<Tensor>& given, Scalar scalar) {
    if (!given) return;
    const auto type = sumType(scalar);
    tensor_ = torch::stable::contiguous(given->scalar_type() == type ? *given : torch::stable::to(*given, type));
  }

  [[nodiscard]] const void* data() const { return tensor_ ? tensor_->const_data_ptr() : nullptr; }

 private:
  std::optional<Tensor> tensor_;
};

void runRows(const NormCall& call, Scalar scalar, NormRows rows, int64_t count) {
  STD_TORCH_CHECK(call.x.is_cpu(), "normlens::", call.op, ": all tensors must be on one device");
  const Constants weight(call.weight, scalar);
  const Constants bias(call.bias, scalar);
  rows.weight = weight.data();
  rows.bias = bias.data();
  constexpr int64_t elementsPerTask = 32768;  // below this a second thread costs more than it saves
  const RowNormFunction run = bestRowNormVariant().run;
  const int64_t grain = std::max<int64_t>(1, elementsPerTask / rows.width);
  torch::stable::parallel_for(0, count, grain, [&](int64_t begin, int64_t end) { run(scalar, rows, begin, end); });
}

NormOutputs runOnCpu(const NormCall& call) { return runNorm(call, &runRows); }

}  // namespace
}  // namespace normlens::kernels

STABLE_TORCH_LIBRARY_IMPL(normlens, CPU, library) {
  normlens::kernels::registerNorms<&normlens::kernels::runOnCpu>(library);
}
