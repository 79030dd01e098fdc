// normlens::rms_norm and normlens::add_rms_norm as torch ops, through torch's stable ABI (2.10 and later).
//
// Over the last axis; float32, float64, float16, bfloat16. Outputs are contiguous. weight and bias may be of another
// floating type than x. For inference: there is no derivative.

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/util/BFloat16.h>
#include <torch/headeronly/util/Half.h>
#include <torch/headeronly/util/shim_utils.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/cpu/rms_norm.h"

namespace normlens::kernels {
namespace {

using torch::headeronly::MemoryFormat;
using torch::headeronly::ScalarType;
using torch::stable::Tensor;

Scalar scalarOf(const Tensor& x) {
  switch (x.scalar_type()) {
    case ScalarType::Float:
      return Scalar::Float32;
    case ScalarType::Double:
      return Scalar::Float64;
    case ScalarType::Half:
      return Scalar::Float16;
    case ScalarType::BFloat16:
      return Scalar::BFloat16;
    default:
      STD_TORCH_CHECK(false, "normlens::rms_norm: x must be float32, float64, float16 or bfloat16");
  }
}

template <class From, class Sum>
std::vector<Sum> converted(const Tensor& tensor) {
  const auto* from = static_cast<const From*>(tensor.const_data_ptr());
  std::vector<Sum> values(static_cast<size_t>(tensor.numel()));
  std::transform(from, from + values.size(), values.begin(), [](From value) { return static_cast<Sum>(value); });
  return values;
}

template <class Sum>
std::vector<Sum> convertedToSum(const Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case ScalarType::Float:
      return converted<float, Sum>(tensor);
    case ScalarType::Double:
      return converted<double, Sum>(tensor);
    case ScalarType::Half:
      return converted<torch::headeronly::Half, Sum>(tensor);
    case ScalarType::BFloat16:
      return converted<torch::headeronly::BFloat16, Sum>(tensor);
    default:
      STD_TORCH_CHECK(false, "normlens::rms_norm: weight and bias must be of a floating type");
  }
}

// A weight or bias as the kernels read it: contiguous, in the type of the sums. Keeps alive what it points to.
class Constants {
 public:
  Constants(const std::optional<Tensor>& given, Scalar scalar, int64_t width, const char* name) {
    if (!given) return;
    STD_TORCH_CHECK(given->is_cpu() && given->dim() == 1 && given->size(0) == width, "normlens::rms_norm: ", name,
                    " must be a CPU tensor with as many elements as the last axis of x: ", width);
    tensor_ = torch::stable::contiguous(*given);
    const bool isDouble = scalar == Scalar::Float64;
    if (tensor_->scalar_type() == (isDouble ? ScalarType::Double : ScalarType::Float)) {
      data_ = tensor_->const_data_ptr();
    } else if (isDouble) {
      doubles_ = convertedToSum<double>(*tensor_);
      data_ = doubles_.data();
    } else {
      floats_ = convertedToSum<float>(*tensor_);
      data_ = floats_.data();
    }
  }

  [[nodiscard]] const void* data() const { return data_; }

 private:
  std::optional<Tensor> tensor_;
  std::vector<float> floats_;
  std::vector<double> doubles_;
  const void* data_ = nullptr;
};

// Leading axes seen as one axis of rows, without a copy where one stride does for all of them.
class Rows {
 public:
  explicit Rows(Tensor tensor) : tensor_(std::move(tensor)) {
    if (!findStride()) {
      tensor_ = torch::stable::contiguous(tensor_);
      stride_ = tensor_.size(tensor_.dim() - 1);
    }
  }

  [[nodiscard]] const void* data() const { return tensor_.const_data_ptr(); }
  [[nodiscard]] int64_t stride() const { return stride_; }

 private:
  bool findStride() {
    const auto sizes = tensor_.sizes();
    const auto strides = tensor_.strides();
    const auto last = static_cast<size_t>(tensor_.dim() - 1);
    if (sizes[last] != 1 && strides[last] != 1) return false;
    stride_ = sizes[last];
    int64_t expected = -1;  // what the next outer axis must have
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

  Tensor tensor_;
  int64_t stride_ = 0;
};

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

int64_t checkedWidth(const Tensor& x) {
  STD_TORCH_CHECK(x.dim() >= 1, "normlens::rms_norm: x needs at least one axis");
  return x.size(x.dim() - 1);
}

void runRows(const Tensor& x, const RmsNormRows& rows, Scalar scalar) {
  constexpr int64_t elementsPerTask = 32768;  // below this a second thread costs more than it saves
  const RmsNormFunction run = bestRmsNormVariant().run;
  const int64_t grain = std::max<int64_t>(1, elementsPerTask / rows.width);
  torch::stable::parallel_for(0, x.numel() / rows.width, grain,
                              [&](int64_t begin, int64_t end) { run(scalar, rows, begin, end); });
}

Tensor rmsNorm(const Tensor& x, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, double eps) {
  const int64_t width = checkedWidth(x);
  const Scalar scalar = scalarOf(x);
  const Constants gamma(weight, scalar, width, "weight");
  const Constants beta(bias, scalar, width, "bias");
  Tensor y = outputLike(x);
  if (x.numel() == 0) return y;
  const Rows input(x);
  runRows(x,
          {.input = input.data(),
           .inputStride = input.stride(),
           .weight = gamma.data(),
           .bias = beta.data(),
           .output = y.mutable_data_ptr(),
           .width = width,
           .eps = eps},
          scalar);
  return y;
}

void checkResidual(const Tensor& x, const Tensor& residual) {
  const auto a = x.sizes();
  const auto b = residual.sizes();
  STD_TORCH_CHECK(residual.scalar_type() == x.scalar_type() && residual.is_cpu() &&
                      std::equal(a.begin(), a.end(), b.begin(), b.end()),
                  "normlens::add_rms_norm: residual must have the shape, type and device of x");
}

std::tuple<Tensor, Tensor> addRmsNorm(const Tensor& x, const Tensor& residual, const std::optional<Tensor>& weight,
                                      const std::optional<Tensor>& bias, double eps) {
  const int64_t width = checkedWidth(x);
  const Scalar scalar = scalarOf(x);
  checkResidual(x, residual);
  const Constants gamma(weight, scalar, width, "weight");
  const Constants beta(bias, scalar, width, "bias");
  Tensor sum = outputLike(x);
  Tensor y = outputLike(x);
  if (x.numel() == 0) return {sum, y};
  const Rows input(x);
  const Rows added(residual);
  runRows(x,
          {.input = input.data(),
           .inputStride = input.stride(),
           .residual = added.data(),
           .residualStride = added.stride(),
           .weight = gamma.data(),
           .bias = beta.data(),
           .sum = sum.mutable_data_ptr(),
           .output = y.mutable_data_ptr(),
           .width = width,
           .eps = eps},
          scalar);
  return {sum, y};
}

// Shapes only, for torch's meta and fake tensors.
Tensor rmsNormShape(const Tensor& x, const std::optional<Tensor>& /*weight*/, const std::optional<Tensor>& /*bias*/,
                    double /*eps*/) {
  return outputLike(x);
}

std::tuple<Tensor, Tensor> addRmsNormShape(const Tensor& x, const Tensor& /*residual*/,
                                           const std::optional<Tensor>& /*weight*/,
                                           const std::optional<Tensor>& /*bias*/, double /*eps*/) {
  return {outputLike(x), outputLike(x)};
}

}  // namespace
}  // namespace normlens::kernels

STABLE_TORCH_LIBRARY(normlens, library) {
  library.def("rms_norm(Tensor x, Tensor? weight, Tensor? bias, float eps) -> Tensor");
  library.def(
      "add_rms_norm(Tensor x, Tensor residual, Tensor? weight, Tensor? bias, float eps) -> (Tensor sum, Tensor y)");
}

STABLE_TORCH_LIBRARY_IMPL(normlens, CPU, library) {
  library.impl("rms_norm", TORCH_BOX(&normlens::kernels::rmsNorm));
  library.impl("add_rms_norm", TORCH_BOX(&normlens::kernels::addRmsNorm));
}

STABLE_TORCH_LIBRARY_IMPL(normlens, Meta, library) {
  library.impl("rms_norm", TORCH_BOX(&normlens::kernels::rmsNormShape));
  library.impl("add_rms_norm", TORCH_BOX(&normlens::kernels::addRmsNormShape));
}
