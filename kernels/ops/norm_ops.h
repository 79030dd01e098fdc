// The functions behind the ops of namespace normlens, as templates over what runs them.
#pragma once

#include <torch/csrc/stable/library.h>

#include <array>
#include <optional>

#include "kernels/ops/norm_call.h"

namespace normlens::kernels {

// The fields that distinguish the ops of kernels/ops/library.cpp.
struct NormOp {
  const char* name;
  NormKind kind;
  bool addsResidual = false;
};

inline constexpr std::array kNormOps = {
    NormOp{"rms_norm", NormKind::Rms},
    NormOp{"layer_norm", NormKind::Layer},
    NormOp{"center", NormKind::Center},
    NormOp{"add_rms_norm", NormKind::Rms, true},
    NormOp{"add_layer_norm", NormKind::Layer, true},
    NormOp{"add_center", NormKind::Center, true},
};

// Arguments in the order of the op's schema, from torch's stack; tensors are the caller's from then on.
class StackReader {
 public:
  explicit StackReader(const StableIValue* next) : next_(next) {}

  template <class Value>
  Value value() {
    return torch::stable::detail::to<Value>(*next_++);
  }
  TensorHandle tensor() { return TensorHandle(value<AtenTensorHandle>()); }
  std::optional<TensorHandle> tensorIf(bool given) {
    return given ? std::optional<TensorHandle>(tensor()) : std::nullopt;
  }
  std::optional<TensorHandle> optionalTensor() {
    const auto handle = value<std::optional<AtenTensorHandle>>();
    return handle ? std::optional<TensorHandle>(*handle) : std::nullopt;
  }

 private:
  const StableIValue* next_;
};

// NormOutputs run(const NormCall&): what a dispatch key does with a call. In place of TORCH_BOX, which copies tensors.
template <auto run, size_t index>
void callNorm(StableIValue* stack, uint64_t, uint64_t) {
  constexpr NormOp op = kNormOps[index];
  StackReader reader(stack);
  const TensorHandle x = reader.tensor();
  const std::optional<TensorHandle> residual = reader.tensorIf(op.addsResidual);
  const std::optional<TensorHandle> weight = reader.optionalTensor();
  const std::optional<TensorHandle> bias = reader.optionalTensor();
  const double eps = op.kind == NormKind::Center ? 0.0 : reader.value<double>();
  NormOutputs outputs = run({.op = op.name,
                             .kind = op.kind,
                             .x = x,
                             .residual = residual ? &*residual : nullptr,
                             .weight = weight ? &*weight : nullptr,
                             .bias = bias ? &*bias : nullptr,
                             .eps = eps});
  if (outputs.sum) *stack++ = torch::stable::detail::from(outputs.sum->release());
  *stack = torch::stable::detail::from(outputs.y.release());
}

template <auto run, size_t... index>
void registerNorms(torch::stable::detail::StableLibrary& library, std::index_sequence<index...>) {
  (library.impl(kNormOps[index].name, &callNorm<run, index>), ...);
}
template <auto run>
void registerNorms(torch::stable::detail::StableLibrary& library) {
  registerNorms<run>(library, std::make_index_sequence<kNormOps.size()>());
}

}  // namespace normlens::kernels
