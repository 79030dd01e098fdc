// One call of a norm op, whatever its kind and device: its arguments checked, its outputs made, its rows found.
// Errors are std::runtime_error with one sentence, which torch hands to the caller. Thread: any.
#pragma once

#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>

#include <cstdint>
#include <optional>

#include "kernels/norm_rows.h"

namespace normlens::kernels {

struct NormCall {
  const char* op;  // "rms_norm", for messages
  NormKind kind;
  const torch::stable::Tensor& x;
  const torch::stable::Tensor* residual = nullptr;  // null: nothing is added
  const std::optional<torch::stable::Tensor>& weight;
  const std::optional<torch::stable::Tensor>& bias;
  double eps = 0.0;
  bool expand = false;  // Crms: write the implied number too
};

struct NormOutputs {
  std::optional<torch::stable::Tensor> sum;  // with a residual
  torch::stable::Tensor y;
};

// Runs `count` rows, at least one, on the device of call.x. `rows` is filled in but for weight and bias, whose type is
// the device's affair.
using NormBackend = void (*)(const NormCall& call, Scalar scalar, NormRows rows, int64_t count);

// Outputs are contiguous; x and residual may be strided, and are broadcast as in torch's add.
NormOutputs runNorm(const NormCall& call, NormBackend backend);

// Outputs without values, for torch's meta and fake tensors; sizes may be symbolic.
NormOutputs normShapes(const NormCall& call);

}  // namespace normlens::kernels
