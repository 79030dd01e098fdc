// The ops of namespace normlens, through torch's stable ABI (2.10 and later). What they compute: kernels/norm_rows.h.
//
// The ops work over the last axis; float32, float64, float16, bfloat16. Outputs are contiguous. weight and bias may be
// of another floating type than x. The add_ ops give x + residual, broadcast and rounded as by torch, and its norm.
//
// They are for inference: there is no derivative. The stable ABI has neither a way to make an autograd node nor one to
// query whether a tensor wants a gradient, so an op could only guess. torch's own fallback does the rest: going
// backward through one of these ops warns that no derivative was registered, and nothing before the op gets a gradient.
#include <torch/csrc/stable/library.h>

#include "kernels/ops/norm_ops.h"

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
}

STABLE_TORCH_LIBRARY_IMPL(normlens, Meta, library) {
  normlens::kernels::registerNorms<&normlens::kernels::normShapes>(library);
}
