#include "kernels/ops/norm_constants.h"

#include <torch/csrc/stable/ops.h>

namespace normlens::kernels {
namespace {

Scalar ofSums(Scalar rows) { return rows == Scalar::Float64 ? Scalar::Float64 : Scalar::Float32; }

torch::headeronly::ScalarType torchTypeOfSum(Scalar scalar) {
  return scalar == Scalar::Float64 ? torch::headeronly::ScalarType::Double : torch::headeronly::ScalarType::Float;
}

bool isDense(const TensorFacts& facts) { return facts.sizes[0] <= 1 || facts.strides[0] == 1; }

}  // namespace

NormConstants::NormConstants(const NormCall& call, Scalar scalar)
    : weight_{call.weight},
      bias_{call.bias},
      type_(weight_.isOf(scalar) && bias_.isOf(scalar) ? ConstantType::OfRows : ConstantType::OfSums) {
  const Scalar wanted = type_ == ConstantType::OfRows ? scalar : ofSums(scalar);
  weight_.convertTo(wanted);
  bias_.convertTo(wanted);
}

// Converts to the type of the sums, or keeps the one it has.
void NormConstants::Constant::convertTo(Scalar scalar) {
  if (given == nullptr || (isOf(scalar) && isDense(given->facts()))) return;
  auto tensor = given->shared();
  if (!isOf(scalar)) tensor = torch::stable::to(tensor, torchTypeOfSum(scalar));
  converted.emplace(TensorHandle::of(torch::stable::contiguous(tensor)));
}

const void* NormConstants::Constant::data() const {
  if (converted) return converted->data();
  return given ? given->data() : nullptr;
}

void NormConstants::fill(NormRows& rows) const {
  rows.weight = weight_.data();
  rows.bias = bias_.data();
  rows.constants = type_;
}

}  // namespace normlens::kernels
