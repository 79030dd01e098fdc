#include "kernels/ops/norm_call.h"

#include <torch/csrc/stable/ops.h>
#include <torch/headeronly/util/shim_utils.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace normlens::kernels {
namespace {

using torch::headeronly::MemoryFormat;
using torch::stable::Tensor;

constexpr const char* kApart = "residual must have the shape of x, or one that broadcasts with it";
constexpr const char* kTypes = "float32, float64, float16 or bfloat16";

// A tensor seen as rows over its last axis. Leading axes become one axis of rows, without a copy where one stride does
// for all of them. The tensor must outlive this, which keeps the copy alive.
class StridedRows {
 public:
  explicit StridedRows(const TensorHandle& tensor);

  [[nodiscard]] const void* data() const { return data_; }
  [[nodiscard]] int64_t stride() const { return stride_; }

 private:
  bool findStride(const TensorFacts& facts);

  std::optional<TensorHandle> copy_;
  const void* data_ = nullptr;
  int64_t stride_ = 0;
};

StridedRows::StridedRows(const TensorHandle& tensor) {
  if (findStride(tensor.facts())) {
    data_ = tensor.data();
  } else {
    copy_.emplace(TensorHandle::of(torch::stable::contiguous(tensor.shared())));
    data_ = copy_->data();
    stride_ = tensor.facts().sizes.back();
  }
}

bool StridedRows::findStride(const TensorFacts& facts) {
  const auto sizes = facts.sizes;
  const auto strides = facts.strides;
  const size_t last = sizes.size() - 1;
  if (sizes[last] != 1 && strides[last] != 1) return false;
  stride_ = sizes[last];
  int64_t expected = -1;  // The next outer axis must have this stride.
  for (size_t axis = last; axis-- > 0;) {
    if (sizes[axis] == 1) continue;
    if (expected == -1) {
      stride_ = strides[axis];
    } else if (strides[axis] != expected) {
      return false;
    }
    expected = strides[axis] * sizes[axis];
  }
  return true;
}

Scalar scalarOf(const NormCall& call) {
  const auto scalar = call.x.scalar();
  require(call, scalar.has_value(), "x must be ", kTypes);
  return *scalar;
}

// Checks that apply whether sizes are numbers or symbols.
void checkTypes(const NormCall& call) {
  const Scalar scalar = scalarOf(call);
  require(call, call.x.axes() > 0 || (call.residual && call.residual->axes() > 0), "x needs at least one axis");
  require(call, !call.residual || call.residual->scalar() == scalar, "residual must have the type of x");
  for (const auto& [constant, name] : {std::pair{call.weight, "weight"}, std::pair{call.bias, "bias"}}) {
    if (!constant) continue;
    require(call, constant->scalar().has_value(), name, " must be ", kTypes);
    require(call, constant->axes() == 1, name, " must have one axis");
  }
}

void checkConstant(const NormCall& call, const TensorHandle* given, const char* name, int64_t width) {
  if (given == nullptr) return;
  const TensorFacts& facts = given->facts();
  require(call, facts.isOnSameDevice(call.x.facts()) && facts.sizes.front() == width, name,
          " must be on the device of x, with as many elements as the last axis of the output: ", width);
}

bool canBroadcast(std::span<const int64_t> a, std::span<const int64_t> b) {
  const size_t shared = std::min(a.size(), b.size());
  return std::ranges::equal(a.last(shared), b.last(shared),
                            [](int64_t m, int64_t n) { return m == n || m == 1 || n == 1; });
}

// Checks all sizes but those of the constants, which depend on the output. Facts are read first, once for each tensor.
void checkSizes(const NormCall& call) {
  const TensorFacts& x = call.x.facts();
  for (const TensorHandle* constant : {call.weight, call.bias}) {
    if (constant) static_cast<void>(constant->facts());
  }
  checkTypes(call);
  if (call.residual == nullptr) return;
  const TensorFacts& residual = call.residual->facts();
  require(call, residual.isOnSameDevice(x), "residual must be on the device of x");
  require(call, canBroadcast(x.sizes, residual.sizes), kApart);
}

// Calls an op of two tensors without further arguments; null where it fails.
std::optional<TensorHandle> callBinary(const char* op, const TensorHandle& a, const TensorHandle& b) {
  std::array<StableIValue, 2> stack{torch::stable::detail::from(a.shared()), torch::stable::detail::from(b.shared())};
  if (torch_call_dispatcher(op, "", stack.data(), TORCH_TARGET_VERSION) != TORCH_SUCCESS) return std::nullopt;
  return TensorHandle(torch::stable::detail::to<AtenTensorHandle>(stack[0]));
}

// Returns some tensor of the shape that x + residual has; sizes may be symbolic.
TensorHandle broadcastShape(const NormCall& call) {
  auto shape = callBinary("aten::maximum", call.x, *call.residual);
  require(call, shape.has_value(), kApart);
  return *std::move(shape);
}

TensorHandle expandedTo(const NormCall& call, const TensorHandle& tensor, const TensorHandle& shape) {
  auto expanded = callBinary("aten::expand_as", tensor, shape);
  require(call, expanded.has_value(), kApart);
  return *std::move(expanded);
}

// Contiguous whatever the strides of x; sizes may be symbolic (torch.compile, torch.export).
TensorHandle outputLike(const Tensor& x) {
  std::array<StableIValue, 6> stack{torch::stable::detail::from(x),
                                    torch::stable::detail::from(std::nullopt),
                                    torch::stable::detail::from(std::nullopt),
                                    torch::stable::detail::from(std::nullopt),
                                    torch::stable::detail::from(std::nullopt),
                                    torch::stable::detail::from(std::optional<MemoryFormat>(MemoryFormat::Contiguous))};
  TORCH_ERROR_CODE_CHECK(torch_call_dispatcher("aten::empty_like", "", stack.data(), TORCH_TARGET_VERSION));
  return TensorHandle(torch::stable::detail::to<AtenTensorHandle>(stack[0]));
}

TensorHandle emptyStrided(const TensorHandle& x, std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  int32_t type = 0;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(x.get(), &type));
  AtenTensorHandle made = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(static_cast<int64_t>(sizes.size()), sizes.data(), strides.data(),
                                                  type, x.facts().deviceType, x.facts().deviceIndex, &made));
  return TensorHandle(made);
}

// The same for tensors with values, whose sizes are numbers: not through the dispatcher, which takes longer than the
// rows of a small tensor.
TensorHandle emptyRows(const TensorHandle& x) {
  const TensorFacts& of = x.facts();
  int64_t stride = 1;
  bool isDense = true;  // with the strides that the output gets
  for (size_t axis = of.sizes.size(); isDense && axis-- > 0; stride *= std::max<int64_t>(of.sizes[axis], 1)) {
    isDense = of.strides[axis] == stride;
  }
  if (isDense) return emptyStrided(x, of.sizes, of.strides);
  std::vector<int64_t> strides(of.sizes.size());
  stride = 1;
  for (size_t axis = strides.size(); axis-- > 0; stride *= std::max<int64_t>(of.sizes[axis], 1)) strides[axis] = stride;
  return emptyStrided(x, of.sizes, strides);
}

NormOutputs runChecked(const NormCall& call, NormBackend backend) {
  const int64_t width = call.x.facts().sizes.back();
  const Scalar scalar = scalarOf(call);
  checkConstant(call, call.weight, "weight", width);
  checkConstant(call, call.bias, "bias", width);
  NormOutputs outputs{.sum = std::nullopt, .y = emptyRows(call.x)};
  if (call.residual) outputs.sum.emplace(emptyRows(call.x));
  const int64_t count = call.x.facts().count();
  if (count == 0) return outputs;
  const StridedRows input(call.x);
  std::optional<StridedRows> residual;
  if (call.residual) residual.emplace(*call.residual);
  backend(call, scalar,
          {.kind = call.kind,
           .input = input.data(),
           .inputStride = input.stride(),
           .residual = residual ? residual->data() : nullptr,
           .residualStride = residual ? residual->stride() : 0,
           .sum = outputs.sum ? outputs.sum->mutableData() : nullptr,
           .output = outputs.y.mutableData(),
           .width = width,
           .eps = call.eps},
          count / width);
  return outputs;
}

}  // namespace

NormOutputs runNorm(const NormCall& call, NormBackend backend) {
  checkSizes(call);
  if (!call.residual || std::ranges::equal(call.x.facts().sizes, call.residual->facts().sizes)) {
    return runChecked(call, backend);
  }
  const TensorHandle shape = broadcastShape(call);
  const TensorHandle x = expandedTo(call, call.x, shape);
  const TensorHandle residual = expandedTo(call, *call.residual, shape);
  return runChecked({.op = call.op,
                     .kind = call.kind,
                     .x = x,
                     .residual = &residual,
                     .weight = call.weight,
                     .bias = call.bias,
                     .eps = call.eps},
                    backend);
}

NormOutputs normShapes(const NormCall& call) {
  checkTypes(call);
  if (call.residual) {
    const Tensor shape = broadcastShape(call).shared();
    return {.sum = outputLike(shape), .y = outputLike(shape)};
  }
  return {.sum = std::nullopt, .y = outputLike(call.x.shared())};
}

}  // namespace normlens::kernels
