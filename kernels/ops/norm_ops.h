// The functions behind the ops of namespace normlens, as templates over what runs them.
#pragma once

#include <torch/csrc/stable/library.h>

#include <optional>
#include <tuple>

#include "kernels/ops/norm_call.h"

namespace normlens::kernels {

using OptionalTensor = std::optional<torch::stable::Tensor>;

// NormOutputs run(const NormCall&): what a dispatch key does with a call.
template <auto run, NormKind kind>
torch::stable::Tensor norm(const torch::stable::Tensor& x, const OptionalTensor& weight, const OptionalTensor& bias,
                           double eps) {
  constexpr const char* op = kind == NormKind::Rms ? "rms_norm" : "layer_norm";
  return run({.op = op, .kind = kind, .x = x, .weight = weight, .bias = bias, .eps = eps}).y;
}

template <auto run, NormKind kind>
std::tuple<torch::stable::Tensor, torch::stable::Tensor> addNorm(const torch::stable::Tensor& x,
                                                                 const torch::stable::Tensor& residual,
                                                                 const OptionalTensor& weight,
                                                                 const OptionalTensor& bias, double eps) {
  constexpr const char* op = kind == NormKind::Rms ? "add_rms_norm" : "add_layer_norm";
  NormOutputs outputs =
      run({.op = op, .kind = kind, .x = x, .residual = &residual, .weight = weight, .bias = bias, .eps = eps});
  return {*outputs.sum, outputs.y};
}

template <auto run>
torch::stable::Tensor center(const torch::stable::Tensor& x, const OptionalTensor& weight, const OptionalTensor& bias) {
  return run({.op = "center", .kind = NormKind::Center, .x = x, .weight = weight, .bias = bias}).y;
}

template <auto run>
std::tuple<torch::stable::Tensor, torch::stable::Tensor> addCenter(const torch::stable::Tensor& x,
                                                                   const torch::stable::Tensor& residual,
                                                                   const OptionalTensor& weight,
                                                                   const OptionalTensor& bias) {
  NormOutputs outputs = run(
      {.op = "add_center", .kind = NormKind::Center, .x = x, .residual = &residual, .weight = weight, .bias = bias});
  return {*outputs.sum, outputs.y};
}

template <auto run>
torch::stable::Tensor crmsNorm(const torch::stable::Tensor& x, const OptionalTensor& weight, const OptionalTensor& bias,
                               double eps, bool expand) {
  return run({.op = "crms_norm",
              .kind = NormKind::Crms,
              .x = x,
              .weight = weight,
              .bias = bias,
              .eps = eps,
              .expand = expand})
      .y;
}

template <auto run>
void registerNorms(torch::stable::detail::StableLibrary& library) {
  library.impl("rms_norm", TORCH_BOX((&norm<run, NormKind::Rms>)));
  library.impl("layer_norm", TORCH_BOX((&norm<run, NormKind::Layer>)));
  library.impl("center", TORCH_BOX((&center<run>)));
  library.impl("add_rms_norm", TORCH_BOX((&addNorm<run, NormKind::Rms>)));
  library.impl("add_layer_norm", TORCH_BOX((&addNorm<run, NormKind::Layer>)));
  library.impl("add_center", TORCH_BOX((&addCenter<run>)));
  library.impl("crms_norm", TORCH_BOX((&crmsNorm<run>)));
}

}  // namespace normlens::kernels
