// The ops of namespace normlens, through torch's stable ABI (2.10 and later). What they compute: kernels/norm_rows.h.
//
// The ops work over the last axis; float32, float64, float16, bfloat16. Outputs are contiguous. weight and bias may be
// of another floating type than x. The add_ ops give x + residual, broadcast and rounded as by torch, and its norm.
//
// They are for inference: there is no derivative. The stable ABI has neither a way to make an autograd node nor one to
// query whether a tensor wants a gradient, so an op could only guess. torch's own fallback does the rest: going
// backward through one of these ops warns that no derivative was registered, and nothing before the op gets a gradient.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>

#include <array>
#include <optional>

#include "kernels/ops/norm_ops.h"

namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

template <class... Arguments>
Tensor call(const char* op, const Arguments&... arguments) {
  std::array<StableIValue, sizeof...(arguments)> stack{torch::stable::detail::from(arguments)...};
  TORCH_ERROR_CODE_CHECK(torch_call_dispatcher(op, "", stack.data(), TORCH_TARGET_VERSION));
  return torch::stable::detail::to<Tensor>(stack[0]);
}

// For files that call it; nothing writes it. x stands for the d numbers (x, -sum(x)): paper 003, section 3.2.
Tensor crmsNorm(const Tensor& x, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, double eps,
                bool expand) {
  const auto longer = [](const Tensor& of, int64_t by) { return torch::stable::pad(of, {{0, by}}); };
  const auto ofAll = [&](const std::optional<Tensor>& of) { return of && !expand ? longer(*of, 1) : of; };
  Tensor all = longer(x, 1), sums = call("aten::cumsum", x, int64_t{-1}, std::optional<ScalarType>());
  Tensor last = torch::stable::narrow(all, -1, -1, 1);
  torch::stable::copy_(last, call("aten::neg", torch::stable::narrow(sums, -1, -1, 1)));
  const Tensor y = call("normlens::rms_norm", all, ofAll(weight), ofAll(bias), eps);
  return expand ? y : longer(y, -1);
}

}  // namespace

STABLE_TORCH_LIBRARY(normlens, library) {
  library.def("rms_norm(Tensor x, Tensor? weight, Tensor? bias, float eps) -> Tensor");
  library.def("layer_norm(Tensor x, Tensor? weight, Tensor? bias, float eps) -> Tensor");
  library.def("center(Tensor x, Tensor? weight=None, Tensor? bias=None) -> Tensor");
  library.def(
      "add_rms_norm(Tensor x, Tensor residual, Tensor? weight, Tensor? bias, float eps) -> (Tensor sum, Tensor y)");
  library.def(
      "add_layer_norm(Tensor x, Tensor residual, Tensor? weight, Tensor? bias, float eps) -> (Tensor sum, Tensor y)");
  library.def(
      "add_center(Tensor x, Tensor residual, Tensor? weight=None, Tensor? bias=None) -> (Tensor sum, Tensor y)");
  library.def("crms_norm(Tensor x, Tensor? weight, Tensor? bias, float eps, bool expand) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(normlens, CompositeImplicitAutograd, library) {
  library.impl("crms_norm", TORCH_BOX(&crmsNorm));
}

STABLE_TORCH_LIBRARY_IMPL(normlens, Meta, library) {
  normlens::kernels::registerNorms<&normlens::kernels::normShapes>(library);
}
