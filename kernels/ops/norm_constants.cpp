#include "kernels/ops/norm_constants.h"

#include <torch/csrc/stable/ops.h>

namespace normlens::kernels {

using torch::headeronly::ScalarType;

NormConstants::NormConstants(const NormCall& call, Scalar scalar) : given_{call.weight, call.bias} {
  const ScalarType ofSums = scalar == Scalar::Float64 ? ScalarType::Double : ScalarType::Float;
  if (areAll(call.x.scalar_type())) type_ = ConstantType::OfRows;
  for (auto& constant : given_) {
    if (!constant) continue;
    if (type_ == ConstantType::OfSums && constant->scalar_type() != ofSums) {
      constant = torch::stable::to(*constant, ofSums);
    }
    if (!constant->is_contiguous()) constant = torch::stable::contiguous(*constant);
  }
}

bool NormConstants::areAll(ScalarType type) const {
  for (const auto& constant : given_) {
    if (constant && constant->scalar_type() != type) return false;
  }
  return true;
}

void NormConstants::fill(NormRows& rows) const {
  rows.weight = given_[0] ? given_[0]->const_data_ptr() : nullptr;
  rows.bias = given_[1] ? given_[1]->const_data_ptr() : nullptr;
  rows.constants = type_;
}

}  // namespace normlens::kernels
