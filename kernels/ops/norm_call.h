// One call of a norm op, whatever its kind and device: its arguments checked, its outputs made, its rows found.
// Errors are std::runtime_error with one sentence, which torch hands to the caller. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "kernels/norm_rows.h"
#include "kernels/ops/tensor_handle.h"

namespace normlens::kernels {

struct NormCall {
  const char* op;  // "rms_norm", for messages
  NormKind kind;
  const TensorHandle& x;
  const TensorHandle* residual = nullptr;  // null: nothing is added
  const TensorHandle* weight = nullptr;    // null: 1
  const TensorHandle* bias = nullptr;      // null: 0
  double eps = 0.0;
};

// Unless it holds, an error of the op's name and the parts. torch's own macro would put a place in our sources first.
template <class... Parts>
void require(const NormCall& call, bool holds, const Parts&... parts) {
  if (holds) return;
  std::ostringstream text;
  text << "normlens::" << call.op << ": ";
  (text << ... << parts);
  throw std::runtime_error(text.str());
}

struct NormOutputs {
  std::optional<TensorHandle> sum;  // with a residual
  TensorHandle y;
};

// Runs `count` rows, at least one, on the device of call.x. `rows` is filled in but for weight and bias, whose type is
// the device's affair.
using NormBackend = void (*)(const NormCall& call, Scalar scalar, NormRows rows, int64_t count);

// Outputs are contiguous; x and residual may be strided, and are broadcast as in torch's add.
NormOutputs runNorm(const NormCall& call, NormBackend backend);

// Outputs without values, for torch's meta and fake tensors; sizes may be symbolic.
NormOutputs normShapes(const NormCall& call);

}  // namespace normlens::kernels
