// The ops on the CPU.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>

#include <algorithm>

#include "kernels/cpu/row_norm.h"
#include "kernels/ops/norm_constants.h"
#include "kernels/ops/norm_ops.h"

namespace normlens::kernels {
namespace {

void runRows(const NormCall& call, Scalar scalar, NormRows rows, int64_t count) {
  require(call, call.x.facts().deviceType == aoti_torch_device_type_cpu(), "all tensors must be on one device");
  const NormConstants constants(call, scalar);
  constants.fill(rows);
  constexpr int64_t elementsPerTask = 32768;  // below this a second thread costs more than it saves
  const RowNormFunction run = bestRowNormVariant().run;
  const int64_t grain = std::max<int64_t>(1, elementsPerTask / rows.width);
  if (count <= grain) return run(scalar, rows, 0, count);
  torch::stable::parallel_for(0, count, grain, [&](int64_t begin, int64_t end) { run(scalar, rows, begin, end); });
}

NormOutputs runOnCpu(const NormCall& call) { return runNorm(call, &runRows); }

}  // namespace
}  // namespace normlens::kernels

STABLE_TORCH_LIBRARY_IMPL(normlens, CPU, library) {
  normlens::kernels::registerNorms<&normlens::kernels::runOnCpu>(library);
}
