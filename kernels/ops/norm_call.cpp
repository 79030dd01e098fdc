#include "kernels/ops/norm_call.h"

#include <torch/csrc/stable/ops.h>
#include <torch/headeronly/util/shim_utils.h>

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/ops/strided_rows.h"

namespace normlens::kernels {
namespace {

using torch::headeronly::MemoryFormat;
using torch::headeronly::ScalarType;
using torch::stable::Tensor;

Scalar scalarOf(const NormCall& call) {
  switch (call.x.scalar_type()) {
    case ScalarType::Float:
      return Scalar::Float32;
    case ScalarType::Double:
      return Scalar::Float64;
    case ScalarType::Half:
      return Scalar::Float16;
    case ScalarType::BFloat16:
      return Scalar::BFloat16;
    default:
      STD_TORCH_CHECK(false, "normlens::", call.op, ": x must be float32, float64, float16 or bfloat16");
  }
}

bool onSameDevice(const Tensor& a, const Tensor& b) {
  return a.is_cpu() == b.is_cpu() && a.is_cuda() == b.is_cuda() && a.get_device_index() == b.get_device_index();
}

void checkConstant(const NormCall& call, const std::optional<Tensor>& given, const char* name, int64_t width) {
  if (!given) return;
  STD_TORCH_CHECK(onSameDevice(*given, call.x) && given->dim() == 1 && given->size(0) == width, "normlens::", call.op,
                  ": ", name,
                  " must be on the device of x, with as many elements as the last axis of the output: ", width);
  const ScalarType type = given->scalar_type();
  STD_TORCH_CHECK(type == ScalarType::Float || type == ScalarType::Double || type == ScalarType::Half ||
                      type == ScalarType::BFloat16,
                  "normlens::", call.op, ": ", name, " must be float32, float64, float16 or bfloat16");
}

void checkResidual(const NormCall& call) {
  if (!call.residual) return;
  STD_TORCH_CHECK(call.residual->scalar_type() == call.x.scalar_type() && onSameDevice(*call.residual, call.x),
                  "normlens::", call.op, ": residual must have the type and device of x");
}

// An op of two tensors without further arguments.
Tensor callBinary(const char* op, const Tensor& a, const Tensor& b) {
  std::array<StableIValue, 2> stack{torch::stable::detail::from(a), torch::stable::detail::from(b)};
  TORCH_ERROR_CODE_CHECK(torch_call_dispatcher(op, "", stack.data(), TORCH_TARGET_VERSION));
  return torch::stable::detail::to<Tensor>(stack[0]);
}

bool haveSameShape(const Tensor& a, const Tensor& b) {
  const auto sizes = a.sizes();
  const auto others = b.sizes();
  return std::equal(sizes.begin(), sizes.end(), others.begin(), others.end());
}

// Some tensor of the shape that a + b has; sizes may be symbolic.
Tensor broadcastShape(const Tensor& a, const Tensor& b) { return callBinary("aten::maximum", a, b); }

int64_t checkedWidth(const NormCall& call) {
  STD_TORCH_CHECK(call.x.dim() >= 1, "normlens::", call.op, ": x needs at least one axis");
  return call.x.size(call.x.dim() - 1);
}

// Contiguous whatever the strides of x; sizes may be symbolic (torch.compile, torch.export).
Tensor outputLike(const Tensor& x) {
  std::array<StableIValue, 6> stack{torch::stable::detail::from(x),
                                    torch::stable::detail::from(std::nullopt),
                                    torch::stable::detail::from(std::nullopt),
                                    torch::stable::detail::from(std::nullopt),
                                    torch::stable::detail::from(std::nullopt),
                                    torch::stable::detail::from(std::optional<MemoryFormat>(MemoryFormat::Contiguous))};
  TORCH_ERROR_CODE_CHECK(torch_call_dispatcher("aten::empty_like", "", stack.data(), TORCH_TARGET_VERSION));
  return torch::stable::detail::to<Tensor>(stack[0]);
}

// The same for tensors with values, whose sizes are numbers, with `more` numbers in each row: not through the
// dispatcher, which takes longer than the rows of a small tensor.
Tensor emptyRows(const Tensor& x, int64_t more = 0) {
  const auto of = x.sizes();
  std::vector<int64_t> sizes(of.begin(), of.end()), strides(of.size());
  sizes.back() += more;
  int64_t stride = 1;
  for (size_t axis = sizes.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= std::max<int64_t>(sizes[axis], 1);
  }
  int32_t type = 0, device = 0;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(x.get(), &type));
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(x.get(), &device));
  AtenTensorHandle made = nullptr;
  TORCH_ERROR_CODE_CHECK(
      aoti_torch_empty_strided(x.dim(), sizes.data(), strides.data(), type, device, x.get_device_index(), &made));
  return Tensor(made);
}

NormOutputs runChecked(const NormCall& call, NormBackend backend) {
  const int64_t width = checkedWidth(call);
  const int64_t outputWidth = width + (call.expand ? 1 : 0);
  const Scalar scalar = scalarOf(call);
  checkConstant(call, call.weight, "weight", outputWidth);
  checkConstant(call, call.bias, "bias", outputWidth);
  NormOutputs outputs{.sum = std::nullopt, .y = emptyRows(call.x, call.expand ? 1 : 0)};
  if (call.residual) outputs.sum = emptyRows(call.x);
  STD_TORCH_CHECK(width > 0 || !call.expand, "normlens::", call.op, ": the last axis of x must not be empty");
  if (call.x.numel() == 0) return outputs;
  const StridedRows input(call.x);
  std::optional<StridedRows> residual;
  if (call.residual) residual.emplace(*call.residual);
  backend(call, scalar,
          {.kind = call.kind,
           .input = input.data(),
           .inputStride = input.stride(),
           .residual = residual ? residual->data() : nullptr,
           .residualStride = residual ? residual->stride() : 0,
           .sum = outputs.sum ? outputs.sum->mutable_data_ptr() : nullptr,
           .output = outputs.y.mutable_data_ptr(),
           .width = width,
           .outputWidth = outputWidth,
           .eps = call.eps},
          call.x.numel() / width);
  return outputs;
}

}  // namespace

NormOutputs runNorm(const NormCall& call, NormBackend backend) {
  checkResidual(call);
  if (!call.residual || haveSameShape(call.x, *call.residual)) return runChecked(call, backend);
  const Tensor shape = broadcastShape(call.x, *call.residual);
  const Tensor x = callBinary("aten::expand_as", call.x, shape);
  const Tensor residual = callBinary("aten::expand_as", *call.residual, shape);
  return runChecked({.op = call.op,
                     .kind = call.kind,
                     .x = x,
                     .residual = &residual,
                     .weight = call.weight,
                     .bias = call.bias,
                     .eps = call.eps,
                     .expand = call.expand},
                    backend);
}

NormOutputs normShapes(const NormCall& call) {
  if (call.residual) {
    const Tensor shape = broadcastShape(call.x, *call.residual);
    return {.sum = outputLike(shape), .y = outputLike(shape)};
  }
  // Padding keeps a symbolic size symbolic.
  return {.sum = std::nullopt, .y = outputLike(call.expand ? torch::stable::pad(call.x, {{0, 1}}) : call.x)};
}

}  // namespace normlens::kernels
